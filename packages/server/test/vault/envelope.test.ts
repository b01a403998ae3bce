import { describe, expect, test } from "vitest";
import { systemRandom, type Uuid, type WorkspaceId } from "#kernel";
import {
  openFormer,
  openSecret,
  rewrapKey,
  type SealedSecret,
  sealSecret,
  sealValues,
  UnreadableSecretError,
} from "../../src/vault/envelope.ts";
import { Keyring } from "../../src/vault/keyring.ts";

const KEYS = ["0".repeat(64), "1".repeat(64)];
const keyring = await Keyring.open({ masterKeys: KEYS, masterKeyFile: null, dataDir: "/nowhere" });
const [first = "", second = ""] = keyring.ids;
const VALUE = 'a "value" \n${{ secrets.OTHER }} é😀';

const identity = (n: number) => ({
  workspace_id: `019aa5b1-cc9b-7196-8a6b-00000000000${n}` as WorkspaceId,
  id: `019aa5b1-cc9b-7196-8a6b-10000000000${n}` as Uuid,
  name: `SECRET_${n}`,
  allowed_queues: [`queue${n}`, "emails"],
  allowed_hosts: [`${n}.example.com`],
});

const seal = (n = 1, value = VALUE): SealedSecret => ({
  ...identity(n),
  ...sealSecret(systemRandom, keyring.get(first), identity(n), value),
});

const opens = (secret: SealedSecret): boolean => {
  try {
    openSecret(keyring, secret);
    return true;
  } catch (error) {
    if (error instanceof UnreadableSecretError) return false;
    throw error;
  }
};

/** Copies of the bytes in which one byte is changed, in one bit or in all bits. */
const flips = (bytes: Buffer): Buffer[] =>
  [...bytes.keys()].flatMap((at) =>
    [0x01, 0x80, 0xff].map((bits) => Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ bits : byte)))),
  );

/** The bytes truncated to each length, and with one extra byte at either end. */
const cuts = (bytes: Buffer): Buffer[] => [
  ...[...bytes.keys()].map((length) => bytes.subarray(0, length)),
  Buffer.concat([bytes, Buffer.of(0)]),
  Buffer.concat([Buffer.of(1), bytes]),
];

describe("a sealed secret", () => {
  test.for(["x", VALUE, "\0", "x".repeat(64 * 1024), "😀".repeat(16 * 1024)])("a sealed secret opens to its value", (value) => {
    expect(openSecret(keyring, seal(1, value))).toBe(value);
  });

  test("former values open with the same data key, also after it was wrapped by another master key, and for no other secret", () => {
    const former = [{ value: VALUE, replacedAt: "2026-11-21T12:00:00.000Z" }];
    const { former: sealed, ...envelope } = sealValues(systemRandom, keyring.get(first), identity(1), "new", former);
    const secret = { ...identity(1), ...envelope };
    const rewrapped = { ...secret, wrapped_key: rewrapKey(systemRandom, keyring, keyring.get(second), secret), master_key_id: second };
    for (const one of [secret, rewrapped]) expect(openFormer(keyring, one, sealed as Buffer)).toEqual(former);
    const other = { ...identity(2), ...sealSecret(systemRandom, keyring.get(first), identity(2), "new") };
    for (const [one, bytes] of [
      [other, sealed],
      [secret, secret.ciphertext],
    ] as const)
      expect(() => openFormer(keyring, one, bytes as Buffer)).toThrow(UnreadableSecretError);
  });

  test("a sealed secret never looks the same twice, nor is its data key the same", () => {
    const sealed = Array.from({ length: 50 }, () => seal());
    for (const part of ["ciphertext", "wrapped_key"] as const) {
      expect(new Set(sealed.map((one) => one[part].toString("hex"))).size).toBe(50);
      expect(new Set(sealed.map((one) => one[part].toString("hex", 1, 13))).size).toBe(50);
    }
  });

  test("a sealed secret does not open with any byte of its ciphertext changed, or with one more or fewer", () => {
    const sealed = seal(1, "value");
    const altered = [...flips(sealed.ciphertext), ...cuts(sealed.ciphertext)];
    expect(altered.length).toBeGreaterThan(100);
    expect(altered.filter((ciphertext) => opens({ ...sealed, ciphertext }))).toEqual([]);
  });

  test("a sealed secret does not open with any byte of its wrapped key changed, or with one more or fewer", () => {
    const sealed = seal(1, "value");
    const altered = [...flips(sealed.wrapped_key), ...cuts(sealed.wrapped_key)];
    expect(altered.length).toBeGreaterThan(200);
    expect(altered.filter((wrapped_key) => opens({ ...sealed, wrapped_key }))).toEqual([]);
  });

  test("a sealed secret does not open under anything that is another's", () => {
    const [one, other] = [seal(1), seal(2)];
    for (const part of ["workspace_id", "id", "name", "ciphertext", "wrapped_key"] as const)
      expect([part, opens({ ...one, [part]: other[part] })]).toEqual([part, false]);
    expect(opens({ ...one, ciphertext: other.ciphertext, wrapped_key: other.wrapped_key })).toBe(false);
    expect(opens({ ...one, master_key_id: second })).toBe(false);
    expect(opens({ ...one, master_key_id: "0000000000000000" })).toBe(false);
    expect(opens({ ...one, ciphertext: one.wrapped_key, wrapped_key: one.ciphertext })).toBe(false);
  });

  test("a sealed secret does not open with other limits, however they are put together", () => {
    const sealed = seal();
    const others: Partial<SealedSecret>[] = [
      { allowed_queues: null },
      { allowed_hosts: null },
      { allowed_queues: [] },
      { allowed_queues: [...(sealed.allowed_queues ?? []), "more"] },
      { allowed_queues: ['queue1","emails'] },
      { allowed_queues: sealed.allowed_hosts, allowed_hosts: sealed.allowed_queues },
    ];
    expect(others.filter((limits) => opens({ ...sealed, ...limits }))).toEqual([]);
    expect(opens({ ...sealed, allowed_queues: ["emails", "queue1"] })).toBe(true);
  });

  test("a sealed secret does not open where its fields, put together, would read the same", () => {
    const sealed = seal();
    const shifted = { ...sealed, id: `${sealed.id}S` as Uuid, name: sealed.name.slice(1) };
    expect(`${shifted.id}${shifted.name}`).toBe(`${sealed.id}${sealed.name}`);
    expect(opens(shifted)).toBe(false);
  });

  test("a sealed secret says what does not open, and nothing of the value or the key", () => {
    const sealed = seal();
    const error = (() => {
      try {
        return openSecret(keyring, { ...sealed, name: "ANOTHER" });
      } catch (thrown) {
        return thrown as Error;
      }
    })();
    expect(error).toMatchObject({
      name: "UnreadableSecretError",
      message: expect.stringMatching(/The secret ANOTHER of .* cannot be decrypted/),
    });
  });

  test("a sealed secret whose key is wrapped anew opens under the other master key, and its value is not touched", () => {
    const sealed = seal();
    const wrapped_key = rewrapKey(systemRandom, keyring, keyring.get(second), sealed);
    const rewrapped = { ...sealed, wrapped_key, master_key_id: second };
    expect(openSecret(keyring, rewrapped)).toBe(VALUE);
    expect(opens({ ...rewrapped, master_key_id: first })).toBe(false);
  });
});
