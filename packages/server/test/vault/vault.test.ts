import { describe, expect } from "vitest";
import { Keyring } from "#vault";
import { openSecret, type SealedSecret } from "../../src/vault/envelope.ts";
import { audited } from "../harness/audit-events.ts";
import { makeKey, operate } from "../harness/operator.ts";
import { complaintsAbout, everythingStored, faultsOf } from "../harness/problem.ts";
import { MASTER_KEY, newWorkspace, Service, test } from "../harness/service.ts";

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const VALUE = "unguessable-value-of-a-secret";
const BYTES = 64 * 1024;

const create = (service: Service, name: string, more: Record<string, unknown> = {}) =>
  service.ok("POST", "/v1/secrets", { name, value: VALUE, ...more });

const namesOf = async (service: Service): Promise<string[]> =>
  (await service.ok("GET", "/v1/secrets?limit=100")).data.map(({ name }: { name: string }) => name);

/** All columns of all stored secrets, with ciphertexts as PostgreSQL writes bytes. */
const storedText = async (service: Service): Promise<string> =>
  JSON.stringify(await service.database.query("select s::text from secret s"));

/** The value that the stored secret decrypts to. */
async function openedValue({ database, key }: Service, name: string): Promise<string> {
  const keyring = await Keyring.open({ masterKeys: [MASTER_KEY], masterKeyFile: null, dataDir: "/nowhere" });
  const [stored] = await database.query<SealedSecret & Record<string, unknown>>(
    "select s.* from secret s join api_key k using (workspace_id) where s.name = $1 and k.hash = sha256($2::text::bytea)",
    [name, key],
  );
  return openSecret(keyring, stored as SealedSecret);
}

describe("a secret", () => {
  test("a secret is kept under its name, and shown with a hint instead of its value", async ({ service }) => {
    const { status, body } = await service.api("POST", "/v1/secrets", { name: "STRIPE_KEY", value: VALUE });
    const shown = {
      name: "STRIPE_KEY",
      value_hint: "ungu...",
      allowed_queues: null,
      allowed_hosts: null,
      created_at: MOMENT,
      updated_at: body.created_at,
    };
    expect([status, body]).toEqual([201, shown]);
    expect(await service.ok("GET", "/v1/secrets")).toEqual({ data: [shown], next_cursor: null });
  });

  test.for([
    ["", 400],
    ["A", 201],
    ["A1_", 201],
    ["A".repeat(128), 201],
    ["A".repeat(129), 400],
    ["a", 400],
    ["Ab", 400],
    ["1A", 400],
    ["_A", 400],
    ["A-B", 400],
    ["A B", 400],
    ["A\n", 400],
    ["É", 400],
  ] as const)("a secret is named in capitals, digits and underscores: %j is answered with %i", async ([name, status], { service }) => {
    expect((await service.api("POST", "/v1/secrets", { name, value: VALUE })).status).toBe(status);
  });

  test.for([
    ["a", "..."],
    ["abc", "..."],
    ["abcd", "a..."],
    ["abcdefg", "a..."],
    ["abcdefgh", "ab..."],
    ["0123456789abcde", "012..."],
    ["0123456789abcdef", "0123..."],
    ["0123456789abcdef".repeat(100), "0123..."],
    ['😀é\n"xxxx', "😀é..."],
  ] as const)("a secret %j has the hint %j: at most four characters, and at most a quarter", async ([value, hint], { service }) => {
    expect(await create(service, "HINTED", { value })).toMatchObject({ value_hint: hint });
  });

  test("a secret is refused when there is one of that name, and the first one stays", async ({ service }) => {
    const first = await create(service, "TWICE");
    const reply = await service.api("POST", "/v1/secrets", { name: "TWICE", value: "another value", allowed_hosts: [] });
    expect(faultsOf(reply, "CONFLICT")).toEqual([]);
    expect(reply.body.error.details).toEqual({ name: "TWICE" });
    expect((await service.ok("GET", "/v1/secrets")).data).toEqual([first]);
  });

  test("a secret is made once by many who make it at the same time", async ({ service }) => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => service.api("POST", "/v1/secrets", { name: "RACE", value: `value ${n}` })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
    expect(await namesOf(service)).toEqual(["RACE"]);
  });

  test("a secret may have up to 64 KiB of UTF-8", async ({ service }) => {
    await create(service, "LARGEST", { value: "x".repeat(BYTES) });
    await create(service, "WIDE", { value: "é".repeat(BYTES / 2) });
    await create(service, "CHANGED");
    for (const value of ["x".repeat(BYTES + 1), "é".repeat(BYTES / 2 + 1)]) {
      for (const [method, path, body] of [
        ["POST", "/v1/secrets", { name: "TOO_LARGE", value }],
        ["PATCH", "/v1/secrets/CHANGED", { value }],
      ] as const) {
        const reply = await service.api(method, path, body);
        expect([method, ...faultsOf(reply, "PAYLOAD_TOO_LARGE"), reply.body.error.details]).toEqual([
          method,
          { limit_bytes: BYTES, path: "value" },
        ]);
      }
    }
    expect(await namesOf(service)).toEqual(["CHANGED", "WIDE", "LARGEST"]);
  });

  test("a secret takes another value, and keeps what limits its use", async ({ service, clock }) => {
    const made = await create(service, "ROTATED", { allowed_queues: ["emails"], allowed_hosts: ["api.example.com"] });
    const before = await storedText(service);
    await clock.advance(1);
    const patched = await service.ok("PATCH", "/v1/secrets/ROTATED", { value: "quite-another-value" });
    expect(patched).toEqual({ ...made, value_hint: "quit...", updated_at: MOMENT });
    expect(patched.updated_at > made.updated_at).toBe(true);
    expect(await storedText(service)).not.toBe(before);
  });

  test("a secret has its limits changed and lifted without a new value", async ({ service }) => {
    await create(service, "LIMITED", { allowed_queues: ["emails"], allowed_hosts: ["api.example.com"] });
    expect(await service.ok("PATCH", "/v1/secrets/LIMITED", { allowed_queues: null })).toMatchObject({
      value_hint: "ungu...",
      allowed_queues: null,
      allowed_hosts: ["api.example.com"],
    });
    expect(await service.ok("PATCH", "/v1/secrets/LIMITED", { allowed_queues: [], allowed_hosts: null })).toMatchObject({
      allowed_queues: [],
      allowed_hosts: null,
    });
    expect(await openedValue(service, "LIMITED")).toBe(VALUE);
  });

  test.for([{ allowed_hosts: ["api.example.com"] }, { allowed_queues: [] }, { value: "another-value" }])(
    "a secret whose limits were altered in the database keeps nothing of them: %j",
    async (change, { service }) => {
      await create(service, "WIDENED", { allowed_queues: ["emails"], allowed_hosts: ["api.example.com"] });
      await service.database.query("update secret set allowed_hosts = null where name = 'WIDENED' and allowed_hosts is not null");
      const refused = await service.api("PATCH", "/v1/secrets/WIDENED", change);
      expect([refused.status, refused.body.error]).toEqual([
        409,
        expect.objectContaining({ code: "INVALID_STATE", message: expect.stringContaining("may have been altered") }),
      ]);
      const whole = { value: VALUE, allowed_queues: ["emails"], allowed_hosts: ["api.example.com"] };
      expect(await service.ok("PATCH", "/v1/secrets/WIDENED", whole)).toMatchObject({ allowed_hosts: ["api.example.com"] });
      expect(await openedValue(service, "WIDENED")).toBe(VALUE);
    },
  );

  test("a secret is sealed under a new data key each time, whatever its value", async ({ service }) => {
    for (const name of ["ONE", "OTHER"]) await create(service, name);
    await service.ok("PATCH", "/v1/secrets/ONE", { value: VALUE });
    const stored = await service.database.query<{ ciphertext: Buffer; wrapped_key: Buffer }>("select ciphertext, wrapped_key from secret");
    const hex = stored.flatMap(({ ciphertext, wrapped_key }) => [ciphertext.toString("hex"), wrapped_key.toString("hex")]);
    expect(new Set(hex).size).toBe(hex.length);
  });

  test("a secret is removed for good, and its name is free", async ({ service }) => {
    await create(service, "GONE");
    expect((await service.api("DELETE", "/v1/secrets/GONE")).status).toBe(204);
    expect(await namesOf(service)).toEqual([]);
    for (const [method, body] of [
      ["DELETE", undefined],
      ["PATCH", { value: "x" }],
    ] as const)
      expect(faultsOf(await service.api(method, "/v1/secrets/GONE", body), "NOT_FOUND")).toEqual([]);
    expect(await create(service, "GONE", { value: "another-value!!!" })).toMatchObject({ value_hint: "anot..." });
  });

  test.for([
    ["API.Example.COM", "api.example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["localhost", "localhost"],
    ["127.1", "127.0.0.1"],
    ["[2001:DB8::0:1]", "[2001:db8::1]"],
    ["service_name.internal", "service_name.internal"],
  ] as const)("a secret may be sent to the host %j, which is kept as %j", async ([host, kept], { service }) => {
    expect(await create(service, "HOSTED", { allowed_hosts: [host] })).toMatchObject({ allowed_hosts: [kept] });
    expect(await service.ok("PATCH", "/v1/secrets/HOSTED", { allowed_hosts: [...new Set([host, kept])] })).toMatchObject({
      allowed_hosts: [kept],
    });
  });

  test("a secret may not be limited to what is no host", async ({ service }) => {
    const hosts = [
      "",
      "*",
      "*.example.com",
      "https://example.com",
      "example.com:443",
      "example.com/",
      "user@example.com",
      "example.com?x",
      "example.com#x",
      "a b",
      " example.com",
      "example.com\n",
      "exam\tple.com",
      "exa%6dple.com",
      "a\\b",
      "2001:db8::1",
      "[::1]:80",
      "[::1",
      "1.2.3.4.5",
      "256.1.1.1",
      "${{ secrets.HOST }}",
      "x".repeat(254),
    ];
    const requests = hosts.map((host) => ({
      method: "POST",
      path: "/v1/secrets",
      body: JSON.stringify({ name: "HOSTED", value: VALUE, allowed_hosts: ["example.com", host] }),
      names: "allowed_hosts[1]",
    }));
    expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
  });
});

describe("secrets", () => {
  test("secrets are listed newest first, in pages", async ({ service }) => {
    for (const name of ["A", "B", "C", "D", "E"]) await create(service, name);
    const listed: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { data, next_cursor } = await service.ok("GET", `/v1/secrets?limit=2${cursor && `&cursor=${cursor}`}`);
      listed.push(...data.map(({ name }: { name: string }) => name));
      if (next_cursor !== null) expect(next_cursor).toMatch(/^sec_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
      cursor = next_cursor;
    }
    expect(listed).toEqual(["E", "D", "C", "B", "A"]);
  });

  test("secrets are each workspace's own", async ({ service, node, database, clock }) => {
    const other = new Service(node, database, clock, await newWorkspace(database));
    await create(service, "SHARED_NAME");
    await create(other, "SHARED_NAME", { value: "the neighbour's value" });
    expect((await other.api("DELETE", "/v1/secrets/SHARED_NAME")).status).toBe(204);
    expect(await namesOf(service)).toEqual(["SHARED_NAME"]);
    expect(await namesOf(other)).toEqual([]);
  });

  test("secrets are listed for a reader, and changed by an admin alone: a writer must not lift what limits their use", async ({
    service,
  }) => {
    await create(service, "GUARDED", { allowed_hosts: ["api.example.com"] });
    const writer = { authorization: `Bearer ${await makeKey(service, { role: "write" })}` };
    const before = await everythingStored(service.database);
    expect((await service.api("GET", "/v1/secrets", undefined, writer)).body.data).toMatchObject([{ name: "GUARDED" }]);
    for (const [method, path, body] of [
      ["PATCH", "/v1/secrets/GUARDED", { allowed_hosts: null }],
      ["DELETE", "/v1/secrets/GUARDED", undefined],
      ["POST", "/v1/secrets", { name: "NEW", value: VALUE }],
    ] as const)
      expect([method, ...faultsOf(await service.api(method, path, body, writer), "FORBIDDEN")]).toEqual([method]);
    expect(await everythingStored(service.database)).toEqual(before);
  });

  test("secrets stand nowhere in the database as they are", async ({ service }) => {
    await create(service, "HIDDEN");
    const [stored] = await service.database.query<{ ciphertext: Buffer }>("select ciphertext from secret where name = 'HIDDEN'");
    expect(stored?.ciphertext.length).toBeGreaterThan(VALUE.length);
    for (const form of [VALUE, Buffer.from(VALUE).toString("hex"), Buffer.from(VALUE).toString("base64")])
      expect(await storedText(service)).not.toContain(form);
  });

  test("secrets go with their workspace at once", async ({ service, node, database, clock }) => {
    const gone = new Service(node, database, clock, await newWorkspace(database));
    await create(gone, "SHREDDED");
    await create(service, "KEPT");
    expect((await operate(service, "DELETE", `/admin/v1/workspaces/${gone.workspaceId}`)).status).toBe(204);
    expect(await database.query("select name from secret")).not.toContainEqual({ name: "SHREDDED" });
    expect(await namesOf(service)).toEqual(["KEPT"]);
  });
});

describe("the audit log", () => {
  test("the audit log has who made, changed and removed a secret, and never its value", async ({ service }) => {
    await create(service, "TOLD", { allowed_hosts: ["API.example.com"] });
    await service.ok("PATCH", "/v1/secrets/TOLD", { value: "another-unguessable-value", allowed_queues: ["emails"] });
    await service.ok("PATCH", "/v1/secrets/TOLD", { allowed_hosts: null });
    await service.ok("DELETE", "/v1/secrets/TOLD");
    const same = { actor: expect.stringMatching(/^key_/), resource: "TOLD" };
    expect(await audited(service, service.workspaceId, "secret")).toEqual([
      {
        ...same,
        type: "secret.created",
        input: { allowed_queues: null, allowed_hosts: ["api.example.com"] },
        output: { value_hint: "ungu..." },
      },
      { ...same, type: "secret.rotated", input: { allowed_queues: ["emails"] }, output: { value_hint: "anot..." } },
      { ...same, type: "secret.updated", input: { allowed_hosts: null }, output: { value_hint: "anot..." } },
      { ...same, type: "secret.deleted", input: null, output: null },
    ]);
    expect(JSON.stringify(await service.database.query("select * from audit_event"))).not.toContain("unguessable");
  });

  test("the audit log has nothing of what was refused", async ({ service }) => {
    await create(service, "TOLD");
    await service.api("POST", "/v1/secrets", { name: "TOLD", value: VALUE });
    await service.api("PATCH", "/v1/secrets/ABSENT", { value: VALUE });
    await service.api("DELETE", "/v1/secrets/ABSENT");
    expect((await audited(service, service.workspaceId, "secret")).map(({ type }) => type)).toEqual(["secret.created"]);
  });

  test("the audit log is written with the fact or not at all", async ({ service, database }) => {
    await create(service, "KEPT");
    const before = await everythingStored(database);
    await database.query("alter table audit_event add constraint refused check (false) not valid");
    try {
      for (const [method, path, body] of [
        ["POST", "/v1/secrets", { name: "UNTOLD", value: VALUE }],
        ["PATCH", "/v1/secrets/KEPT", { value: VALUE }],
        ["DELETE", "/v1/secrets/KEPT", undefined],
      ] as const)
        expect([method, (await service.api(method, path, body)).status]).toEqual([method, 500]);
    } finally {
      await database.query("alter table audit_event drop constraint refused");
    }
    expect(await everythingStored(database)).toEqual(before);
  });
});
