import { describe, expect } from "vitest";
import { sql, uuidOf } from "#kernel";
import { removePerson } from "../../src/people/members/manage.ts";
import type { Reply } from "../harness/ask.ts";
import type { TestIdentityProvider } from "../harness/identity-provider.ts";
import { hold } from "../harness/locks.ts";
import { newPerson } from "../harness/people.ts";
import { callback, signIn, start, test, WholeBrowser } from "../harness/sso.ts";

/** Signs in at the provider. Returns what calls back here. */
async function prepare(sso: { url: string }, provider: TestIdentityProvider, account: string) {
  const browser = new WholeBrowser(sso.url);
  const back = await provider.signIn((await start(browser)).headers.get("location") ?? "", account);
  return { browser, send: () => browser.send("GET", callback(back), undefined, { "sec-fetch-site": "cross-site" }) };
}

describe("two callbacks of the provider at the same time", () => {
  test.for([
    ["of one account there", "twin", "twin", ["", ""]],
    ["of two accounts there with one address", "left", "right", ["", "sign-in?refused=email_taken"]],
  ] as const)("%s make one account here", async ([, one, other, expected], { sso, provider, engine, database }) => {
    const email = `${one}@example.com`;
    for (const name of [one, other]) provider.accounts.set(name, { email, email_verified: true, name, groups: ["developers"] });
    const both = [await prepare(sso, provider, one), await prepare(sso, provider, other)];
    const lock = hold(engine, sql`lock table person in share mode`);
    await lock.held;
    const replies = both.map(({ send }) => send());
    await lock.untilWaiting(2).finally(lock.release);
    const ends = (await Promise.all(replies)).map((reply) => reply.headers.get("location")?.replace("../../", ""));
    expect(ends.toSorted()).toEqual(expected);
    expect(await database.query("select email from person where email = $1", [email])).toHaveLength(1);
    const shown = await Promise.all(both.map(({ browser }) => browser.auth("GET", "session")));
    expect(shown.filter(({ body }) => body.person !== null)).toHaveLength(one === other ? 2 : 1);
  });

  test("of one account there whose address has changed between make one account here", async ({ sso, provider, engine, database }) => {
    const account = { email_verified: true, name: "Mover", groups: ["developers"] };
    const lock = hold(engine, sql`lock table identity in exclusive mode`);
    await lock.held;
    const replies: Promise<Reply>[] = [];
    for (const email of ["before@example.com", "after@example.com"]) {
      provider.accounts.set("mover", { ...account, email });
      const { send } = await prepare(sso, provider, "mover");
      replies.push(send());
      await lock.untilWaiting(replies.length).catch(lock.release);
    }
    await lock.release();
    for (const reply of await Promise.all(replies)) expect(reply.headers.get("location")).toBe("../../");
    expect(await database.query("select from person where email in ('before@example.com', 'after@example.com')")).toHaveLength(1);
  });
});

test("somebody who signs in by the provider while they are removed is removed afterwards", async ({
  sso,
  provider,
  engine,
  database,
  workspaces: [one],
}) => {
  const email = "leaver@example.com";
  provider.accounts.set("leaver", { email, email_verified: true, name: "Leaver", groups: ["developers"] });
  await signIn(provider, new WholeBrowser(sso.url), "leaver");
  // They are in a workspace of no rule, too, and get another role by the provider.
  await newPerson({ database, node: sso, workspaceId: one.id });
  provider.accounts.set("leaver", { email, email_verified: true, name: "Leaver", groups: ["everybody"] });
  const { browser, send } = await prepare(sso, provider, "leaver");
  const lock = hold(engine, sql`select from workspace where id = ${uuidOf("ws", one.id)} for update`);
  await lock.held;
  const reply = send();
  await lock.untilWaiting(1).catch(lock.release);
  const removed = removePerson(engine, { audit: { record: async () => {} } as never }, email, true);
  await lock.untilWaiting(2).finally(lock.release);
  expect((await reply).headers.get("location")).toBe("../../");
  expect(await removed).not.toBeNull();
  expect((await browser.auth("GET", "session")).body.person).toBeNull();
  expect(await database.query("select from person where email = $1", [email])).toEqual([]);
});
