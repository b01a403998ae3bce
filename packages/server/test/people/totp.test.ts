import { describe, expect } from "vitest";
import { codeAt } from "../../src/people/second-factors/totp-code.ts";
import { Browser, newPerson, PASSWORD, type TestPerson } from "../harness/people.ts";
import { type Service, test } from "../harness/service.ts";

/** The code of an authenticator now, or some steps of 30 seconds later. */
const codeOf = (service: Service, secret: string, later = 0) => codeAt(secret, Math.floor(service.clock.nowMs() / 30_000) + later);

async function enrol(service: Service, person: TestPerson): Promise<{ secret: string; recovery: string[] }> {
  const { secret } = (await person.auth("POST", "totp")).body;
  const { body } = await person.auth("POST", "totp/enable", { code: codeOf(service, secret) });
  return { secret, recovery: body.recovery_codes };
}

const signIn = (service: Service, { email }: TestPerson, code?: string) =>
  new Browser(service.node.url).auth("POST", "sign-in", { email, password: PASSWORD, ...(code !== undefined && { code }) });

describe("an authenticator", () => {
  test("codes are those of RFC 6238", () => {
    const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    for (const [seconds, code] of [
      [59, "287082"],
      [1_111_111_109, "081804"],
      [1_234_567_890, "005924"],
      [20_000_000_000, "353130"],
    ] as const) {
      expect(codeAt(secret, Math.floor(seconds / 30))).toBe(code);
    }
  });

  test("a person who has one signs in with a code, each of which is good once", async ({ service }) => {
    const person = await newPerson(service);
    const { secret } = await enrol(service, person);
    expect((await person.auth("GET", "session")).body.person.totp).toBe(true);
    const without = await signIn(service, person);
    expect(without).toMatchObject({ status: 401, body: { error: { details: { code_required: true } } } });
    // That of the enrolment was used.
    expect((await signIn(service, person, codeOf(service, secret))).status).toBe(401);
    await service.clock.advance(60);
    const code = codeOf(service, secret);
    const replies = await Promise.all([1, 2, 3].map(() => signIn(service, person, code)));
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 401, 401]);
    // An older one than the last is not good either, though its step is near.
    expect((await signIn(service, person, codeOf(service, secret, -1))).status).toBe(401);
    const wrongPassword = await new Browser(service.node.url).auth("POST", "sign-in", { email: person.email, password: "wrong password" });
    expect(wrongPassword.body.error.details).toEqual({});
  });

  test("five wrong codes close sign-in for a while, whatever the address", async ({ service, database }) => {
    const person = await newPerson(service);
    const { secret } = await enrol(service, person);
    await database.query("delete from throttle");
    for (let n = 0; n < 5; n += 1) expect((await signIn(service, person, "000000")).status).toBe(401);
    await service.clock.advance(60);
    expect((await signIn(service, person, codeOf(service, secret))).status).toBe(429);
    await service.clock.advance(900);
    expect((await signIn(service, person, codeOf(service, secret))).status).toBe(204);
  });

  test("a recovery code is good once, and only hashes are stored", async ({ service, database }) => {
    const person = await newPerson(service);
    const { secret, recovery } = await enrol(service, person);
    expect(recovery).toHaveLength(10);
    const [code = ""] = recovery;
    expect((await signIn(service, person, code.toUpperCase())).status).toBe(204);
    expect((await signIn(service, person, code)).status).toBe(401);
    const [stored] = await database.query<{ text: string }>(
      "select coalesce(string_agg(r::text, ' '), '') || (select string_agg(t::text, ' ') from totp t) as text from recovery_code r",
    );
    for (const one of recovery) expect(stored?.text).not.toContain(one.replaceAll("-", ""));
    expect(stored?.text).not.toContain(secret);
  });

  test("a recovery code is good after the key of authenticators was given up, and a new authenticator can be enrolled", async ({
    service,
    database,
  }) => {
    const person = await newPerson(service);
    const { secret, recovery } = await enrol(service, person);
    await database.query("delete from own_key");
    await service.clock.advance(60);
    expect((await signIn(service, person, codeOf(service, secret))).status).toBe(401);
    expect((await signIn(service, person, recovery[0])).status).toBe(204);
    expect((await person.auth("DELETE", "totp")).status).toBe(204);
    expect((await enrol(service, person)).recovery).toHaveLength(10);
  });

  test("an enrolment that was begun anew cannot be enabled by a code of the old one, and none turns off one in use", async ({
    service,
  }) => {
    const person = await newPerson(service);
    const old = (await person.auth("POST", "totp")).body.secret;
    const { secret } = (await person.auth("POST", "totp")).body;
    expect((await person.auth("POST", "totp/enable", { code: codeOf(service, old) })).status).toBe(403);
    const both = await Promise.all([
      person.auth("POST", "totp/enable", { code: codeOf(service, secret) }),
      person.auth("POST", "totp/enable", { code: codeOf(service, secret) }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await person.auth("POST", "totp")).status).toBe(409);
    expect((await person.auth("GET", "session")).body.person.totp).toBe(true);
  });

  test("turning it on and off needs a person who has confirmed; a code confirms", async ({ service }) => {
    const person = await newPerson(service);
    const { secret } = await enrol(service, person);
    await service.clock.advance(601);
    for (const [method, path] of [
      ["DELETE", "totp"],
      ["POST", "totp/recovery-codes"],
      ["POST", "totp"],
      ["POST", "passkeys/options"],
    ] as const) {
      expect((await person.auth(method, path)).body.error.details).toEqual({ confirm: true });
    }
    expect((await person.auth("POST", "confirm", { code: "000000" })).status).toBe(403);
    expect((await person.auth("POST", "confirm", { code: codeOf(service, secret) })).status).toBe(204);
    expect((await person.auth("DELETE", "totp")).status).toBe(204);
    expect((await signIn(service, person)).status).toBe(204);
  });
});
