import { describe, expect } from "vitest";
import { codeAt } from "../../src/people/second-factors/totp-code.ts";
import type { Reply } from "../harness/ask.ts";
import { CLIENT_ID, CLIENT_SECRET, TestIdentityProvider } from "../harness/identity-provider.ts";
import { linkIn, MailServer } from "../harness/mail.ts";
import { joinedBy, NEVER_POLL } from "../harness/nodes.ts";
import { PasskeyDevice } from "../harness/passkey-device.ts";
import { newPerson, PASSWORD, type TestPerson } from "../harness/people.ts";
import { test as base, newWorkspace, Service, startTestNode } from "../harness/service.ts";
import { callback, start, WholeBrowser } from "../harness/sso.ts";

/** Where people reach both nodes, through a proxy that sends each request to either. */
const ORIGIN = "http://localhost";

interface Pair {
  readonly nodes: readonly [Service, Service];
  readonly provider: TestIdentityProvider;
  readonly mails: MailServer;
}

const test = base
  .extend("pair", { scope: "file" }, async ({ database, clock }, { onCleanup }): Promise<Pair> => {
    const [provider, mails] = [await TestIdentityProvider.listen(`${ORIGIN}/dashboard/auth/oidc/callback`), await MailServer.listen()];
    const workspace = await newWorkspace(database);
    const settings = {
      ...NEVER_POLL,
      TIDEMILL_PUBLIC_URL: ORIGIN,
      TIDEMILL_SMTP_URL: mails.url,
      TIDEMILL_OIDC_ISSUER: provider.issuer,
      TIDEMILL_OIDC_CLIENT_ID: CLIENT_ID,
      TIDEMILL_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      TIDEMILL_OIDC_ROLES: `developers=${workspace.id}:write`,
    };
    const one = new Service(await startTestNode(database, clock, settings), database, clock, workspace);
    const other = await joinedBy(one, settings);
    onCleanup(async () => {
      await Promise.all([one.node.stop(), other.node.stop(), provider.close(), mails.close()]);
    });
    return { nodes: [one, other], provider, mails };
  })
  .extend("nodes", async ({ pair, database }) => {
    await database.query("delete from throttle");
    return pair.nodes;
  });

/** The browser of a person at each node, with one session. */
const browsersOf = (nodes: readonly Service[], { cookie }: TestPerson) =>
  nodes.map(({ node }) => new WholeBrowser(node.url).hold(cookie)) as [WholeBrowser, WholeBrowser];

/** A new browser at each node. */
const newBrowsers = (nodes: readonly Service[]) => nodes.map(({ node }) => new WholeBrowser(node.url)) as [WholeBrowser, WholeBrowser];

const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status).toSorted();

const codeNow = ({ clock }: Service, secret: string) => codeAt(secret, Math.floor(clock.nowMs() / 30_000));

/** Enrols an authenticator: begins at one node, and ends at the other. */
async function enrol(nodes: readonly [Service, Service], person: TestPerson): Promise<{ secret: string; recovery: string[] }> {
  const [begins, ends] = browsersOf(nodes, person);
  const { secret } = (await begins.auth("POST", "totp")).body;
  const { body } = await ends.auth("POST", "totp/enable", { code: codeNow(nodes[1], secret) });
  // The next code is another one.
  await nodes[0].clock.advance(60);
  return { secret, recovery: body.recovery_codes };
}

describe("what a person begins at one node", () => {
  test("an authenticator, they end at the other, and each code signs in once, at one of them", async ({ nodes }) => {
    const person = await newPerson(nodes[0]);
    const { secret, recovery } = await enrol(nodes, person);
    for (const code of [codeNow(nodes[0], secret), recovery[0]]) {
      const body = { email: person.email, password: PASSWORD, code };
      const replies = await Promise.all(newBrowsers(nodes).map((browser) => browser.auth("POST", "sign-in", body)));
      expect(statuses(replies)).toEqual([204, 401]);
    }
  });

  test("a passkey, they end at the other, and each answer of it signs in once, at one of them", async ({ nodes }) => {
    const device = new PasskeyDevice(ORIGIN);
    const person = await newPerson(nodes[0]);
    const [here, there] = browsersOf(nodes, person);
    const made = { name: "A key", response: device.register((await here.auth("POST", "passkeys/options")).body) };
    expect(statuses(await Promise.all([here, there].map((browser) => browser.auth("POST", "passkeys", made))))).toEqual([201, 403]);
    const [asks, answers] = newBrowsers(nodes);
    const signIn = { response: device.answer((await asks.auth("POST", "passkeys/sign-in/options")).body) };
    const replies = await Promise.all([answers, asks].map((browser) => browser.auth("POST", "passkeys/sign-in", signIn)));
    expect(statuses(replies)).toEqual([204, 401]);
    const shown = await Promise.all([answers, asks].map((browser) => browser.auth("GET", "session")));
    expect(shown.flatMap(({ body }) => body.person?.id ?? [])).toEqual([person.id]);
  });

  test("a sign-in at the provider, they end at the other, and its answer signs in once, at one of them", async ({ nodes, pair }) => {
    const { provider } = pair;
    provider.accounts.set("ada", { email: "ada@example.com", email_verified: true, name: "Ada", groups: ["developers"] });
    const [here, there] = newBrowsers(nodes);
    const started = await start(here);
    there.hold((started.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "");
    const back = callback(await provider.signIn(started.headers.get("location") ?? "", "ada"));
    const replies = await Promise.all([there, here].map((browser) => browser.send("GET", back)));
    expect(replies.map(({ headers }) => headers.get("location")).toSorted()).toEqual(["../../", "../../sign-in?refused=expired"]);
    const shown = await Promise.all([there, here].map((browser) => browser.auth("GET", "session")));
    expect(shown.flatMap(({ body }) => body.person?.name ?? [])).toEqual(["Ada"]);
  });

  test("a reset of their password, they end at the other, once; no session of theirs is good at either", async ({ nodes, pair }) => {
    const person = await newPerson(nodes[0]);
    expect((await newBrowsers(nodes)[0].auth("POST", "reset", { email: person.email })).status).toBe(204);
    const link = `links/${linkIn(await pair.mails.mailTo(person.email))}`;
    const [here, there] = newBrowsers(nodes);
    expect((await there.auth("GET", link)).body).toMatchObject({ kind: "reset" });
    const password = "an entirely new password";
    const replies = await Promise.all([there, here].map((browser) => browser.auth("POST", link, { password })));
    expect(statuses(replies)).toEqual([204, 404]);
    const before = await Promise.all(browsersOf(nodes, person).map((browser) => browser.auth("GET", "session")));
    expect(before.map(({ body }) => body.person)).toEqual([null, null]);
    for (const browser of newBrowsers(nodes)) {
      expect((await browser.auth("POST", "sign-in", { email: person.email, password })).status).toBe(204);
    }
  });

  test("an invitation is taken at the other, by one person", async ({ nodes }) => {
    const [one] = nodes;
    const { url } = await one.ok("POST", "/v1/invitations", { role: "read" });
    const link = `links/${url.split("/").at(-1)}`;
    const people = ["first", "second"].map((name) => ({ name, email: `${name}-${one.workspaceId}@example.com`, password: PASSWORD }));
    const replies = await Promise.all(newBrowsers(nodes).map((browser, at) => browser.auth("POST", link, people[at])));
    expect(statuses(replies)).toEqual([204, 404]);
  });
});

describe("on two nodes", () => {
  test("wrong codes are counted together, also those at the same time", async ({ nodes }) => {
    const person = await newPerson(nodes[0]);
    await enrol(nodes, person);
    const browsers = Array.from({ length: 5 }, () => browsersOf(nodes, person)).flat();
    const replies = await Promise.all(browsers.map((browser) => browser.auth("POST", "confirm", { code: "000000" })));
    // One try was the code of the enrolment.
    expect(statuses(replies)).toEqual([...Array(4).fill(403), ...Array(6).fill(429)]);
  });

  test("a session that is ended at one is refused at the other at once", async ({ nodes }) => {
    const person = await newPerson(nodes[0]);
    const [here, there] = browsersOf(nodes, person);
    const queues = (browser: WholeBrowser) => browser.api(nodes[0].workspaceId, "GET", "/v1/queues");
    const [other] = newBrowsers(nodes);
    expect((await other.auth("POST", "sign-in", { email: person.email, password: PASSWORD })).status).toBe(204);
    expect((await queues(there)).status).toBe(200);
    expect((await other.auth("DELETE", "sessions")).status).toBe(204);
    expect([(await queues(there)).status, (await queues(here)).status, (await queues(other)).status]).toEqual([401, 401, 200]);
  });
});
