import { createHash } from "node:crypto";
import { describe, expect } from "vitest";
import { type Operation, operationsOf, pathOf } from "../harness/api-doc.ts";
import { comparable, makeKey, OPERATOR_TOKEN } from "../harness/operator.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { type Service, startTestNode, test, until } from "../harness/service.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** CRC-32 by its definition: reflected polynomial 0xEDB88320, bit by bit. */
function crc32(text: string): number {
  let rest = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return (rest ^ 0xffffffff) >>> 0;
}

/** Six base62 digits, the most significant first. */
const base62 = (value: number): string => Array.from({ length: 6 }, (_, at) => DIGITS[Math.floor(value / 62 ** (5 - at)) % 62]).join("");

/** The key with these random digits, as the contract defines it. */
const keyOf = (random: string): string => `svc_ws_${random}${base62(crc32(`svc_ws_${random}`))}`;
const UNKNOWN = keyOf("abcdefghijklmnopqrstuvwxyz012345");

const send = (service: Service, operation: Operation, authorization: string | null, query = "") =>
  sendRaw(service.node.url, {
    method: operation.method,
    path: pathOf(operation) + query,
    headers: { ...(authorization !== null && { authorization }), ...(operation.requestBody && { "content-type": "application/json" }) },
    ...(operation.requestBody && { body: JSON.stringify(operation.requestBody.content["application/json"]?.example) }),
  });

/** A key with another last digit. */
const mistyped = (key: string): string => key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");

describe("every /v1 route", () => {
  test("every /v1 route refuses what is no valid key of the service, each time with the same words", async ({ service, database }) => {
    const [expired, expiring, revoked] = [await makeKey(service), await makeKey(service), await makeKey(service)];
    const set = (key: string, setting: string) =>
      database.query(`update api_key set ${setting} where hash = sha256($1::text::bytea)`, [key]);
    await set(expired, "expires_at = moment() - interval '1 second'");
    await set(expiring, "expires_at = moment()");
    await set(revoked, "revoked_at = moment()");
    const { key } = service;
    // biome-ignore format: a table
    const refused = [
      null, "", "Bearer", "Bearer ", "Basic YTpi", key, `Token ${key}`, `Bearer: ${key}`, `Bearer ${key} ${key}`,
      `Bearer ${key}, Bearer ${key}`, `Bearer "${key}"`, "Bearer x", "Bearer svc_ws_", `Bearer ${key.slice(0, -1)}`, `Bearer ${key}0`,
      `Bearer ${key.toLowerCase()}`, `Bearer ${key.slice(7)}`, `Bearer ${key.replace("svc_ws_", "svc_xx_")}`, `Bearer ${mistyped(key)}`,
      `Bearer ${UNKNOWN}`, `Bearer ${expired}`, `Bearer ${expiring}`, `Bearer ${revoked}`, `Bearer ${OPERATOR_TOKEN}`,
      `Bearer ${"x".repeat(8_000)}`,
    ];
    const before = await everythingStored(database);
    const operations = await operationsOf(service);
    const first = await send(service, operations[0] as Operation, null);
    expect([...faultsOf(first, "UNAUTHORIZED"), first.headers.get("www-authenticate")]).toEqual(["Bearer"]);
    for (const operation of operations) {
      for (const authorization of refused) {
        const reply = await send(service, operation, authorization);
        expect([operation.id, authorization, comparable(reply)]).toEqual([operation.id, authorization, comparable(first)]);
      }
      const inQuery = await send(service, operation, null, `?key=${key}&access_token=${key}&authorization=Bearer%20${key}`);
      expect([operation.id, comparable(inQuery)]).toEqual([operation.id, comparable(first)]);
    }
    expect(await everythingStored(database)).toEqual(before);
  });

  test("every /v1 route lets a key pass whatever the case of its scheme", async ({ service }) => {
    for (const scheme of ["Bearer", "bearer", "BEARER", "Bearer "]) {
      expect((await service.api("GET", "/v1/queues", undefined, { authorization: `${scheme} ${service.key}` })).status).toBe(200);
    }
  });

  test("every /v1 route tells a key that may not change things nothing about what it would change", async ({ service }) => {
    const authorization = `Bearer ${await makeKey(service, { role: "read" })}`;
    const paths = [`/v1/queues/${await service.queue()}`, "/v1/queues/absent", "/v1/queues/-malformed"];
    const replies = await Promise.all(paths.map((path) => service.api("DELETE", path, undefined, { authorization })));
    expect(new Set(replies.map((reply) => JSON.stringify(comparable(reply)))).size).toBe(1);
    expect(replies[0]?.status).toBe(403);
  });
});

describe("a key", () => {
  test("a key is svc_ws_, 32 random base62 digits, and 6 of the CRC-32 of what precedes", async ({ service }) => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => makeKey(service)));
    for (const key of keys) {
      expect(key).toMatch(/^svc_ws_[0-9A-Za-z]{38}$/);
      expect(key).toBe(keyOf(key.slice(7, 39)));
    }
    expect(new Set(keys.map((key) => key.slice(7, 39))).size).toBe(20);
  });

  test("a key has a checksum that is padded with zeros", () => {
    expect([crc32("123456789"), base62(0), base62(61), base62(62), base62(0xffffffff)]).toEqual([
      0xcbf43926,
      "000000",
      "00000z",
      "000010",
      "4gfFC3",
    ]);
  });

  test("a key that is mistyped is refused by its checksum: nobody looks it up", async ({ database, clock }) => {
    const node = await startTestNode(database, clock);
    const status = async (key: string) =>
      (await sendRaw(node.url, { method: "GET", path: "/v1/queues", headers: { authorization: `Bearer ${key}` } })).status;
    await database.query("alter table api_key rename to api_key_away");
    try {
      expect([await status(mistyped(UNKNOWN)), await status(UNKNOWN)]).toEqual([401, 500]);
    } finally {
      await database.query("alter table api_key_away rename to api_key");
      await node.stop();
    }
  });

  test("a key is stored as its SHA-256 and nowhere else", async ({ service, database }) => {
    const key = await makeKey(service);
    await service.api("GET", "/v1/queues", undefined, { authorization: `Bearer ${key}` });
    const [stored] = await database.query<{ hash: Buffer }>("select hash from api_key where hash = $1", [
      createHash("sha256").update(key).digest(),
    ]);
    expect(stored?.hash).toHaveLength(32);
    const tables = await database.query<{ name: string }>(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'tidemill'",
    );
    expect(tables.length).toBeGreaterThan(5);
    for (const { name } of tables) {
      const found = await database.query(
        `select from ${name} t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0 or strpos(t::text, $3) > 0`,
        [key, key.slice(7, 39), Buffer.from(key).toString("hex")],
      );
      expect([name, found.length]).toEqual([name, 0]);
    }
  });

  test("a key works until it expires, or is revoked", async ({ service, clock, database }) => {
    const expires_at = new Date(clock.nowMs() + 60_000).toISOString();
    const [expiring, revoked] = [await makeKey(service, { expires_at }), await makeKey(service, { expires_at: null })];
    const status = async (key: string) => (await service.api("GET", "/v1/queues", undefined, { authorization: `Bearer ${key}` })).status;
    expect([await status(expiring), await status(revoked)]).toEqual([200, 200]);
    await clock.advance(60);
    await database.query("update api_key set revoked_at = moment() where hash = sha256($1::text::bytea)", [revoked]);
    // A node may cache a key for less than a second.
    await until(async () => (await status(expiring)) === 401 && (await status(revoked)) === 401, "the keys to be refused");
  });
});
