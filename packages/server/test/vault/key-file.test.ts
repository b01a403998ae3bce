import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test as base, describe, expect } from "vitest";
import { systemRandom } from "#kernel";
import { makeKeyFile, promoteNextFile, readKeyFile } from "../../src/vault/key-file.ts";
import { Keyring } from "../../src/vault/keyring.ts";
import { type MasterKey, makeMasterKey, readMasterKey, writeMasterKey } from "../../src/vault/master-key.ts";

const test = base.extend("dir", async ({}, { onCleanup }) => {
  const made = mkdtempSync(path.join(tmpdir(), "tidemill-key-"));
  onCleanup(() => rmSync(made, { recursive: true, force: true }));
  return made;
});

const HEX = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeefa";
const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);
const open = (dataDir: string, masterKeyFile: string | null = null, masterKeys: string[] = []) =>
  Keyring.open({ masterKeys, masterKeyFile, dataDir });
/** Creates a file with a key and this mode. */
const put = (file: string, text = `${HEX}\n`, mode = 0o600): string => {
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
};
const unusable = (says: string) => expect.objectContaining({ code: "MASTER_KEY_UNUSABLE", message: expect.stringContaining(says) });

describe("a master key", () => {
  test("a master key is the same in hex, base64 and base64url, padded or not, and has one id", () => {
    const bytes = Buffer.from(HEX, "hex");
    const spellings = [
      HEX,
      HEX.toUpperCase(),
      bytes.toString("base64"),
      bytes.toString("base64").slice(0, 43),
      bytes.toString("base64url"),
    ];
    const ids = spellings.map((text) => readMasterKey(text)?.id);
    expect(new Set(ids)).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{16}$/)]));
  });

  test("a master key is 32 bytes and nothing else", () => {
    for (const text of ["", "x", HEX.slice(2), `${HEX}00`, "é".repeat(32), " ".repeat(44), Buffer.alloc(31).toString("base64")])
      expect([text, readMasterKey(text)]).toEqual([text, null]);
  });

  test("a master key has another id than another key, and an id that tells nothing of it", () => {
    const keys = Array.from({ length: 100 }, () => makeMasterKey(systemRandom));
    expect(new Set(keys.map(({ id }) => id)).size).toBe(100);
    for (const one of keys) expect(Buffer.from(writeMasterKey(one), "base64").toString("hex")).not.toContain(one.id);
  });
});

describe("a key file", () => {
  test("a key file is made for its owner's eyes alone, whatever the umask, with the directories on the way", async ({ dir }) => {
    const file = path.join(dir, "a/b/master.key");
    const before = process.umask(0);
    try {
      expect(await makeKeyFile(file, readMasterKey(HEX) as MasterKey)).toBe(true);
    } finally {
      process.umask(before);
    }
    expect([modeOf(file), modeOf(path.join(dir, "a")), modeOf(path.join(dir, "a/b"))]).toEqual(["600", "700", "700"]);
    expect(readFileSync(file, "utf8")).toBe(`${Buffer.from(HEX, "hex").toString("base64")}\n`);
    expect(readdirSync(path.dirname(file))).toEqual(["master.key"]);
    expect((await readKeyFile(file))?.id).toBe(readMasterKey(HEX)?.id);
  });

  test("a key file is never written over", async ({ dir }) => {
    const file = put(path.join(dir, "master.key"));
    expect(await makeKeyFile(file, makeMasterKey(systemRandom))).toBe(false);
    symlinkSync(path.join(dir, "absent"), path.join(dir, "link"));
    expect(await makeKeyFile(path.join(dir, "link"), makeMasterKey(systemRandom))).toBe(false);
    expect([readFileSync(file, "utf8"), readdirSync(dir).sort()]).toEqual([`${HEX}\n`, ["link", "master.key"]]);
  });

  test("a key file that many make at the same time is one of theirs, whole", async ({ dir }) => {
    const file = path.join(dir, "master.key");
    const keys = Array.from({ length: 20 }, () => makeMasterKey(systemRandom));
    const made = await Promise.all(keys.map((key) => makeKeyFile(file, key)));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect((await readKeyFile(file))?.id).toBe(keys[made.indexOf(true)]?.id);
  });

  test("a key file that does not exist is none", async ({ dir }) => {
    expect(await readKeyFile(path.join(dir, "absent"))).toBeNull();
  });

  test.for([0o640, 0o604, 0o660, 0o610, 0o601, 0o620, 0o602, 0o644, 0o666, 0o777])(
    "a key file of mode %o is refused",
    async (mode, { dir }) => {
      const file = put(path.join(dir, "master.key"), HEX, mode);
      await expect(readKeyFile(file)).rejects.toEqual(unusable(`mode ${mode.toString(8)}`));
    },
  );

  test.for([0o600, 0o400, 0o700])("a key file of mode %o is read", async (mode, { dir }) => {
    expect((await readKeyFile(put(path.join(dir, "master.key"), HEX, mode)))?.id).toBe(readMasterKey(HEX)?.id);
  });

  test.for(["", "\n", "a key", HEX.slice(1), `${HEX}\n${HEX}\n`, HEX.repeat(100), "\0".repeat(32)])(
    "a key file that holds %j holds no key, and is refused without a word of what it holds",
    async (text, { dir }) => {
      const file = put(path.join(dir, "master.key"), text);
      const error = await readKeyFile(file).catch((thrown: Error) => thrown);
      expect(error).toEqual(unusable("does not hold a key"));
      if (text.length > 10) expect((error as Error).message).not.toContain(text.slice(0, 10));
    },
  );

  test("a key file that is no regular file is refused", async ({ dir }) => {
    mkdirSync(path.join(dir, "directory"), { mode: 0o700 });
    await expect(readKeyFile(path.join(dir, "directory"))).rejects.toEqual(unusable("is not a regular file"));
    await expect(readKeyFile("/dev/null")).rejects.toEqual(unusable("is not a regular file"));
    await expect(readKeyFile(path.join(put(path.join(dir, "file")), "master.key"))).rejects.toEqual(unusable("cannot be read (ENOTDIR)"));
  });

  test("a key file that cannot be written is said to be so", async ({ dir }) => {
    const file = path.join(put(path.join(dir, "file")), "master.key");
    await expect(makeKeyFile(file, makeMasterKey(systemRandom))).rejects.toEqual(unusable("cannot be written"));
  });

  test("a key file gives way to the next one, and the old key is kept beside", async ({ dir }) => {
    const [old, next] = [makeMasterKey(systemRandom), makeMasterKey(systemRandom)];
    const file = path.join(dir, "master.key");
    await makeKeyFile(file, old);
    await makeKeyFile(`${file}.next`, next);
    await promoteNextFile(file, old, next);
    // Another process does the same, a moment later.
    await promoteNextFile(file, old, next);
    expect(readdirSync(dir).sort()).toEqual(["master.key", ...[old.id, next.id].map((id) => `master.key.${id}`).sort()]);
    expect([(await readKeyFile(file))?.id, (await readKeyFile(`${file}.${old.id}`))?.id]).toEqual([next.id, old.id]);
    expect(modeOf(`${file}.${old.id}`)).toBe("600");
  });
});

describe("a keyring", () => {
  test("a keyring has the keys of the environment, and then looks at no file", async ({ dir }) => {
    put(path.join(dir, "master.key"), "no key");
    const keyring = await open(dir, null, [HEX, HEX.replace("00", "ff"), HEX.toUpperCase()]);
    expect(keyring.ids).toEqual([readMasterKey(HEX)?.id, readMasterKey(HEX.replace("00", "ff"))?.id]);
    expect(keyring.file).toBeNull();
  });

  test("a keyring has the key of the file in the data directory, or of the one that is named", async ({ dir }) => {
    put(path.join(dir, "master.key"));
    put(path.join(dir, "other"), HEX.replace("00", "ff"));
    expect((await open(dir)).ids).toEqual([readMasterKey(HEX)?.id]);
    expect((await open(dir, path.join(dir, "other"))).ids).toEqual([readMasterKey(HEX.replace("00", "ff"))?.id]);
  });

  test("a keyring makes no file by being opened", async ({ dir }) => {
    expect((await open(dir)).ids).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
  });

  test("a keyring learns of the next key when it is reloaded, and keeps what it had", async ({ dir }) => {
    const [old, next] = [makeMasterKey(systemRandom), makeMasterKey(systemRandom)];
    const file = path.join(dir, "master.key");
    await makeKeyFile(file, old);
    const keyring = await open(dir);
    await makeKeyFile(`${file}.next`, next);
    expect(keyring.has(next.id)).toBe(false);
    await keyring.reload();
    expect(keyring.ids).toEqual([old.id, next.id]);
    await promoteNextFile(file, old, next);
    await keyring.reload();
    expect(keyring.ids).toEqual([old.id, next.id]);
    expect((await open(dir)).ids).toEqual([next.id]);
  });

  test("a keyring takes no file in the data of a PostgreSQL, whatever way leads there", async ({ dir }) => {
    const cluster = path.join(dir, "elsewhere");
    mkdirSync(path.join(cluster, "base/1"), { recursive: true });
    writeFileSync(path.join(cluster, "PG_VERSION"), "18\n");
    symlinkSync(path.join(cluster, "base"), path.join(dir, "link"));
    const files = [
      "postgres",
      "postgres/master.key",
      "postgres/a/b",
      "x/../postgres/k",
      "elsewhere/k",
      "elsewhere/base/1/k",
      "link/k",
      "link/new/k",
    ];
    for (const file of files) {
      const error = await open(dir, path.join(dir, file)).catch((thrown: Error) => thrown);
      expect([file, error]).toEqual([file, unusable("would be in the data")]);
    }
    expect(existsSync(path.join(dir, "postgres"))).toBe(false);
    for (const file of ["postgres.key", "..postgres/k", "beside/k"]) await open(dir, path.join(dir, file));
  });
});
