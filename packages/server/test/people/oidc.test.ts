import { describe, expect } from "vitest";
import { uuidOf } from "#kernel";
import { freePort } from "../harness/free-port.ts";
import { CLIENT_ID } from "../harness/identity-provider.ts";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { startTestNode } from "../harness/service.ts";
import { callback, signIn, start, test, WholeBrowser } from "../harness/sso.ts";

describe("signing in by an identity provider", () => {
  test("somebody of a known group gets an account, with the roles of their groups, and comes to the page they wanted", async ({
    sso,
    provider,
    workspaces: [one, other],
  }) => {
    provider.accounts.set("ada", { email: "Ada@Example.com", email_verified: true, name: "Ada", groups: ["developers", "everybody"] });
    const browser = new WholeBrowser(sso.url);
    const reply = await signIn(provider, browser, "ada", `?next=${encodeURIComponent("/w/x/queues?a=b")}`);
    expect([reply.status, reply.headers.get("location")]).toEqual([303, "../../w/x/queues?a=b"]);
    const { body } = await browser.auth("GET", "session");
    expect(body).toMatchObject({
      person: { name: "Ada", email: "ada@example.com", email_verified: true, operator: false, has_password: false },
      sign_in: { oidc: { name: "Example" } },
    });
    expect(new Map(body.workspaces.map(({ id, role }: { id: string; role: string }) => [id, role]))).toEqual(
      new Map([
        [one.id, "write"],
        [other.id, "read"],
      ]),
    );
  });

  test("roles follow the groups at each sign-in; those that somebody gave stay", async ({
    sso,
    provider,
    workspaces: [one, other],
    service,
  }) => {
    const account = { email: "grace@example.com", email_verified: true, name: "Grace" };
    const sign = async (groups: string[]) => {
      provider.accounts.set("grace", { ...account, groups });
      const browser = new WholeBrowser(sso.url);
      await signIn(provider, browser, "grace");
      const { person, workspaces } = (await browser.auth("GET", "session")).body;
      return {
        operator: person?.operator,
        roles: Object.fromEntries((workspaces ?? []).map((w: { id: string; role: string }) => [w.id, w.role])),
      };
    };
    expect(await sign(["developers", "operators"])).toEqual({ operator: true, roles: { [one.id]: "write" } });
    // Another admin, so that this one is not the last.
    await newPerson({ ...service, node: sso, database: service.database, workspaceId: one.id });
    expect(await sign(["developers", "leads", "everybody"])).toEqual({ operator: false, roles: { [one.id]: "admin", [other.id]: "read" } });
    await service.database.query(
      "update membership set managed = false where role = 'read' and person_id = (select id from person where email = $1)",
      [account.email],
    );
    expect(await sign(["nothing"])).toEqual({ operator: false, roles: { [other.id]: "read" } });
  });

  test("rights of groups count only in a session that began at the provider, and such a session ends after a day", async ({
    sso,
    provider,
    workspaces: [one, other],
    service,
  }) => {
    const email = "hedy@example.com";
    provider.accounts.set("hedy", { email, email_verified: true, name: "Hedy\u202e\u0007 L.", groups: ["developers", "operators"] });
    const browser = new WholeBrowser(sso.url);
    await signIn(provider, browser, "hedy");
    const hand = "insert into membership (workspace_id, person_id, role) select $1, id, 'read' from person where email = $2";
    await service.database.query(hand, [uuidOf("ws", other.id), email]);
    // They set a password, which neither ends their session nor lets it last longer.
    expect((await browser.auth("POST", "password", { new_password: PASSWORD })).status).toBe(204);
    const byPassword = new Browser(sso.url);
    expect((await byPassword.auth("POST", "sign-in", { email, password: PASSWORD }, { origin: "" })).status).toBe(204);
    const stateOf = async (who: Browser) => {
      const { person, workspaces } = (await who.auth("GET", "session")).body;
      const asked = [one, other].map(async ({ id }) => (await who.api(id, "GET", "/v1/queues")).status);
      const operates = (await who.operate("GET", "/workspaces")).status;
      return [person?.name, person?.operator, person?.more_by_provider, workspaces.length, await Promise.all(asked), operates];
    };
    expect(await stateOf(browser)).toEqual(["Hedy L.", true, false, 2, [200, 200], 200]);
    expect(await stateOf(byPassword)).toEqual(["Hedy L.", false, true, 1, [404, 200], 403]);
    for (let hours = 0; hours < 22; hours += 11) {
      await service.clock.advance(11 * 3600);
      expect((await stateOf(browser))[1]).toBe(true);
      expect((await stateOf(byPassword))[0]).toBe("Hedy L.");
    }
    await service.clock.advance(2 * 3600);
    expect((await browser.auth("GET", "session")).body.person).toBeNull();
    expect((await stateOf(byPassword))[0]).toBe("Hedy L.");
  });

  test("nobody gets in without a right, without an address, or by the address of another's account", async ({ sso, provider, service }) => {
    const { email, id } = await newPerson(service);
    provider.accounts.set("nobody", { email: "nobody@example.com", groups: ["strangers"] });
    provider.accounts.set("without", { groups: ["developers"] });
    provider.accounts.set("thief", { email, email_verified: false, groups: ["developers"] });
    provider.accounts.set("verified thief", { email, email_verified: true, groups: ["developers"] });
    for (const [account, reason] of [
      ["nobody", "no_access"],
      ["without", "no_email"],
      ["thief", "email_taken"],
      ["verified thief", "email_taken"],
    ] as const) {
      const browser = new WholeBrowser(sso.url);
      const reply = await signIn(provider, browser, account);
      expect([account, reply.headers.get("location")]).toEqual([account, `../../sign-in?refused=${reason}`]);
      expect((await browser.auth("GET", "session")).body.person).toBeNull();
    }
    expect(
      await service.database.query("select from identity where person_id = (select id from person where email = $1)", [email]),
    ).toEqual([]);
    expect(id).toMatch(/^usr_/);
  });

  test("a person who is signed in and has confirmed adds their account there, and signs in by it from then on", async ({
    sso,
    provider,
    service,
  }) => {
    const person = await newPerson(service);
    provider.accounts.set("linked", { email: person.email, groups: [] });
    const browser = new WholeBrowser(sso.url).hold(person.cookie);
    const reply = await signIn(provider, browser, "linked", "?link=1");
    expect(reply.headers.get("location")).toBe("../../account");
    const other = new WholeBrowser(sso.url);
    await signIn(provider, other, "linked");
    expect((await other.auth("GET", "session")).body.person).toMatchObject({ id: person.id });
    // It cannot be added to a second person.
    const second = await newPerson(service);
    const theirs = await signIn(provider, new WholeBrowser(sso.url).hold(second.cookie), "linked", "?link=1");
    expect(theirs.headers.get("location")).toBe("../../sign-in?refused=linked_elsewhere");
    await service.clock.advance(601);
    expect((await start(browser, "?link=1")).status).toBe(403);
    expect((await new Browser(sso.url).auth("POST", "sign-in", { email: person.email, password: PASSWORD })).status).toBe(204);
  });

  test("an answer counts once, in the browser that asked, and only as it was given", async ({ sso, provider }) => {
    provider.accounts.set("carol", { email: "carol@example.com", groups: ["developers"] });
    const browser = new WholeBrowser(sso.url);
    const back = callback(await provider.signIn((await start(browser)).headers.get("location") ?? "", "carol"));
    const open = async (who: Browser, path: string) => (await who.send("GET", path)).headers.get("location");
    // Another browser: somebody wants to sign it in to an account of their own.
    expect(await open(new WholeBrowser(sso.url), back)).toBe("../../sign-in?refused=expired");
    expect(await open(browser, back)).toBe("../../");
    expect(await open(browser, back)).toBe("../../sign-in?refused=expired");
    const again = new WholeBrowser(sso.url);
    const second = callback(await provider.signIn((await start(again)).headers.get("location") ?? "", "carol"));
    expect(await open(again, second.replace(/code=[^&]+/, "code=made-up"))).toBe("../../sign-in?refused=refused");
    // What was asked is used up.
    expect(await open(again, second)).toBe("../../sign-in?refused=expired");
  });

  test("next leads to no other site", async ({ sso, provider }) => {
    provider.accounts.set("dave", { email: "dave@example.com", groups: ["developers"] });
    for (const next of ["//evil.example", "https://evil.example/", "\\\\evil.example", "/\r\nset-cookie: a=b"]) {
      const reply = await signIn(provider, new WholeBrowser(sso.url), "dave", `?next=${encodeURIComponent(next)}`);
      const at = new URL(reply.headers.get("location") ?? "", "http://jobs.example.com/a/b/dashboard/auth/oidc/callback");
      expect(at.href).toMatch("http://jobs.example.com/a/b/dashboard/");
    }
  });

  test("a provider that cannot be reached is a 503", async ({ database, clock }) => {
    const node = await startTestNode(database, clock, {
      TIDEMILL_OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
      TIDEMILL_OIDC_CLIENT_ID: CLIENT_ID,
    });
    try {
      expect((await start(new Browser(node.url))).status).toBe(503);
    } finally {
      await node.stop();
    }
  });
});
