import { describe, expect } from "vitest";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { startTestNode, test } from "../harness/service.ts";

const QUARTER = 900;

const tryTo = async (browser: Browser, email: string, password: string, headers = {}) =>
  (await browser.auth("POST", "sign-in", { email, password }, headers)).status;

describe("tries to sign in", () => {
  test("ten wrong passwords from one address close it for that account for a while, on all nodes", async ({ service, database, clock }) => {
    await database.query("delete from throttle");
    const person = await newPerson(service);
    const other = await newPerson(service);
    const second = await startTestNode(database, clock);
    try {
      const browsers = [new Browser(service.node.url), new Browser(second.url)];
      for (let n = 0; n < 10; n += 1) expect(await tryTo(browsers[n % 2] as Browser, person.email, "wrong password")).toBe(401);
      for (const browser of browsers) {
        const reply = await browser.auth("POST", "sign-in", { email: person.email, password: PASSWORD });
        expect(reply).toMatchObject({
          status: 429,
          body: {
            error: {
              code: "RATE_LIMITED",
              message: "Too many tries. Wait 15 minutes, then try again.",
              details: { retry_after_seconds: QUARTER },
            },
          },
        });
        expect(reply.headers.get("retry-after")).toBe(String(QUARTER));
      }
      expect(await tryTo(new Browser(second.url), other.email, PASSWORD)).toBe(204);
      await clock.advance(QUARTER);
      expect(await tryTo(new Browser(second.url), person.email, PASSWORD)).toBe(204);
    } finally {
      await second.stop();
    }
  });

  test("whoever tries passwords from many networks does not close the account for its owner's browser", async ({
    service,
    database,
    clock,
  }) => {
    await database.query("delete from throttle");
    const [person, other] = [await newPerson(service), await newPerson(service)];
    const node = await startTestNode(database, clock, { TIDEMILL_TRUSTED_PROXIES: "127.0.0.0/8" });
    try {
      const from = (address: string, cookie = "") => ({ "x-forwarded-for": address, cookie });
      const signedIn = await new Browser(node.url).auth(
        "POST",
        "sign-in",
        { email: person.email, password: PASSWORD },
        from("203.0.113.1"),
      );
      const device =
        signedIn.headers
          .getSetCookie()
          .find((cookie) => cookie.includes("_device="))
          ?.split(";")[0] ?? "";
      const tryFrom = (email: string, password: string, address: string, cookie = "") =>
        tryTo(new Browser(node.url), email, password, from(address, cookie));
      // 100 wrong passwords an hour from all addresses. They are counted, not verified, to be quick.
      await database.query("update throttle set tries = 100 where key like 'signInTo:%'");
      expect(await tryFrom(person.email, PASSWORD, "198.51.100.1")).toBe(429);
      expect(await tryFrom(person.email, PASSWORD, "203.0.113.1")).toBe(429);
      // The browser is known wherever it is, for this person only, and has ten tries of its own.
      expect(await tryFrom(person.email, PASSWORD, "198.51.100.1", device)).toBe(204);
      for (let n = 0; n < 10; n += 1) expect(await tryFrom(person.email, "wrong password", `198.51.100.${n}`, device)).toBe(401);
      expect(await tryFrom(person.email, PASSWORD, "192.0.2.1", device)).toBe(429);
      for (let n = 0; n < 10; n += 1) expect(await tryFrom(other.email, "wrong password", "192.0.2.9", device)).toBe(401);
      expect(await tryFrom(other.email, PASSWORD, "192.0.2.9", device)).toBe(429);
      await clock.advance(QUARTER);
      await database.query("update throttle set tries = 100 where key like 'signInTo:%'");
      expect(await tryFrom(person.email, PASSWORD, "192.0.2.1", device)).toBe(204);
      await clock.advance(91 * 86_400);
      await tryFrom(person.email, "wrong password", "192.0.2.1");
      await database.query("update throttle set tries = 100 where key like 'signInTo:%'");
      expect(await tryFrom(person.email, PASSWORD, "192.0.2.1", device)).toBe(429);
    } finally {
      await node.stop();
    }
  });

  test("an address that nobody has is closed as one that somebody has", async ({ service, database }) => {
    await database.query("delete from throttle");
    const browser = new Browser(service.node.url);
    const statuses = [];
    for (let n = 0; n < 11; n += 1) statuses.push(await tryTo(browser, "nobody@example.com", "wrong password"));
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });

  test("right passwords do not count", async ({ service, database }) => {
    await database.query("delete from throttle");
    const person = await newPerson(service);
    for (let n = 0; n < 12; n += 1) expect(await tryTo(new Browser(service.node.url), person.email, PASSWORD)).toBe(204);
  });

  test("behind a trusted proxy, each client has its own tries, and cannot make up others", async ({ service, database, clock }) => {
    await database.query("delete from throttle");
    const person = await newPerson(service);
    const node = await startTestNode(database, clock, { TIDEMILL_TRUSTED_PROXIES: "127.0.0.0/8, 10.1.0.0/16" });
    try {
      const from = (forwarded: string) => ({ "x-forwarded-for": forwarded });
      const browser = () => new Browser(node.url);
      for (let n = 0; n < 10; n += 1) {
        expect(await tryTo(browser(), person.email, "wrong password", from(`198.51.100.${n}, 203.0.113.7, 10.1.2.3`))).toBe(401);
      }
      expect(await tryTo(browser(), person.email, PASSWORD, from("203.0.113.7"))).toBe(429);
      expect(await tryTo(browser(), person.email, PASSWORD, from("203.0.113.8"))).toBe(204);
      // Without the setting, the header counts nothing.
      for (let n = 0; n < 10; n += 1) await tryTo(new Browser(service.node.url), person.email, "wrong password", from(`203.0.113.${n}`));
      expect(await tryTo(new Browser(service.node.url), person.email, PASSWORD, from("203.0.113.99"))).toBe(429);
    } finally {
      await node.stop();
    }
  });

  test("only hashes of what is limited are stored", async ({ service, database }) => {
    await tryTo(new Browser(service.node.url), "readable@example.com", "wrong password");
    const stored = await database.query<{ key: string }>("select key from throttle");
    expect(stored.length).toBeGreaterThan(0);
    for (const { key } of stored) expect(key).toMatch(/^[a-zA-Z]+:[\w-]{43}$/);
  });
});

describe("proofs of somebody who is signed in", () => {
  test("passwords to confirm and to change count together", async ({ service }) => {
    const person = await newPerson(service);
    const wrong = "not the password";
    for (let n = 0; n < 5; n += 1) {
      expect((await person.auth("POST", "confirm", { password: wrong })).status).toBe(403);
      expect((await person.auth("POST", "password", { password: wrong, new_password: "another long one" })).status).toBe(403);
    }
    expect((await person.auth("POST", "confirm", { password: PASSWORD })).status).toBe(429);
    expect((await person.auth("POST", "password", { password: PASSWORD, new_password: "another long one" })).status).toBe(429);
  });
});
