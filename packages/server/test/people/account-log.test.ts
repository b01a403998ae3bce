import { describe, expect } from "vitest";
import { codeAt } from "../../src/people/second-factors/totp-code.ts";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { test } from "../harness/service.ts";

interface Event {
  readonly id: string;
  readonly event_type: string;
  readonly actor_id: string;
  readonly detail: string | null;
}

const eventsOf = async (browser: Browser, query = ""): Promise<Event[]> => (await browser.auth("GET", `events${query}`)).body.data;
const typesOf = async (browser: Browser) => (await eventsOf(browser)).map(({ event_type }) => event_type).reverse();

describe("the log of an account", () => {
  test("a person sees sign-ins and every change of how they sign in, and nobody else does", async ({ service, clock }) => {
    const person = await newPerson(service);
    const stranger = await newPerson(service);
    const headers = { "user-agent": "Test browser" };
    const other = new Browser(service.node.url);
    expect((await other.auth("POST", "sign-in", { email: person.email, password: PASSWORD }, headers)).status).toBe(204);
    const [{ id }] = (await person.auth("GET", "sessions")).body.data.filter((one: { current: boolean }) => !one.current);
    expect((await person.auth("DELETE", `sessions/${id}`)).status).toBe(204);
    expect((await person.auth("DELETE", "sessions")).status).toBe(204);
    const { secret } = (await person.auth("POST", "totp")).body;
    const code = () => codeAt(secret, Math.floor(clock.nowMs() / 30_000));
    const [recovery] = (await person.auth("POST", "totp/enable", { code: code() })).body.recovery_codes;
    const wrong = { email: person.email, password: PASSWORD, code: "000000" };
    expect((await other.auth("POST", "sign-in", wrong)).status).toBe(401);
    expect((await other.auth("POST", "sign-in", { ...wrong, code: recovery })).status).toBe(204);
    expect((await person.auth("POST", "totp/recovery-codes")).status).toBe(200);
    expect((await person.auth("DELETE", "totp")).status).toBe(204);
    expect((await person.auth("PATCH", "profile", { email: `new-${person.email}` })).status).toBe(204);
    expect((await person.auth("POST", "password", { password: PASSWORD, new_password: "another long one" })).status).toBe(204);
    expect(await typesOf(person)).toEqual([
      "session.started",
      "session.ended",
      "sessions.ended",
      "totp.enabled",
      "code.refused",
      "recovery_code.used",
      "session.started",
      "recovery_codes.replaced",
      "totp.disabled",
      "email.changed",
      "password.changed",
    ]);
    const events = await eventsOf(person);
    expect(events.at(-1)).toMatchObject({ actor_id: person.id, address: "127.0.0.1", user_agent: "Test browser", detail: "password" });
    const page = (await person.auth("GET", "events?limit=2")).body;
    expect([page.data, page.next_cursor]).toEqual([events.slice(0, 2), events[1]?.id]);
    expect(await eventsOf(person, `?limit=2&cursor=${page.next_cursor}`)).toEqual(events.slice(2, 4));
    expect(await eventsOf(stranger)).toEqual([]);
    expect((await new Browser(service.node.url).auth("GET", "events")).status).toBe(401);
    expect(JSON.stringify(events)).not.toContain(recovery);
  });
});
