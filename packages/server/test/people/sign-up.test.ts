import { describe, expect } from "vitest";
import { linkIn, MailServer } from "../harness/mail.ts";
import { Browser, newPerson } from "../harness/people.ts";
import { test as base, Service, startTestNode } from "../harness/service.ts";

const NEW = { name: "A stranger", password: "a long enough password" };

/** A node where strangers sign up. */
const test = base
  .extend("mails", { scope: "file" }, async ({}, { onCleanup }) => {
    const server = await MailServer.listen();
    onCleanup(() => server.close());
    return server;
  })
  .extend("open", { scope: "file" }, async ({ database, clock, mails }, { onCleanup }) => {
    const node = await startTestNode(database, clock, {
      TIDEMILL_SMTP_URL: mails.url,
      TIDEMILL_PUBLIC_URL: "http://jobs.example.com",
      TIDEMILL_SIGN_UP: "open",
    });
    onCleanup(() => node.stop());
    return node;
  })
  .extend("here", async ({ service, open, database, clock }) => {
    await database.query("delete from throttle");
    return new Service(open, database, clock, { id: service.workspaceId, key: service.key });
  });

describe("strangers", () => {
  test("one with a mail address gets an account, whose address is proven, and a workspace on Free", async ({ here, mails }) => {
    const email = `${here.workspaceId}@example.com`;
    const browser = new Browser(here.node.url);
    expect((await browser.auth("GET", "session")).body.sign_in).toMatchObject({ sign_up: "open", mail: true });
    expect((await browser.auth("POST", "sign-up", { email })).status).toBe(204);
    const token = linkIn(await mails.mailTo(email));
    expect((await browser.auth("GET", `links/${token}`)).body).toMatchObject({ kind: "verify", email, new_account: true });
    // The address is the one that the link was sent to.
    const taken = await browser.auth("POST", `links/${token}`, { ...NEW, email: "another@example.com" });
    expect(taken.status).toBe(204);
    const { person, workspaces } = (await browser.auth("GET", "session")).body;
    expect(person).toMatchObject({ email, email_verified: true, operator: false });
    expect(workspaces).toMatchObject([{ name: "A stranger's workspace", plan: "free", role: "admin" }]);
    expect((await browser.api(workspaces[0].id, "POST", "/v1/queues", { name: "mine" })).status).toBe(201);
    expect((await browser.api(workspaces[0].id, "POST", "/v1/queues", { name: "paid", callback_url: "https://example.com" })).status).toBe(
      403,
    );
    expect((await browser.api(here.workspaceId, "GET", "/v1/queues")).status).toBe(404);
    expect((await browser.operate("GET", "/workspaces")).status).toBe(403);
    expect((await browser.auth("POST", `links/${token}`, NEW)).status).toBe(404);
  });

  test("who has an account gets a link to set a new password, and the same answer", async ({ here, mails }) => {
    const { email } = await newPerson(here);
    const reply = await new Browser(here.node.url).auth("POST", "sign-up", { email });
    expect([reply.status, reply.text]).toEqual([204, ""]);
    expect((await mails.mailTo(email)).text).toContain("Set a new password");
  });

  test("somebody makes two more workspaces, and switches; a third is refused, as is one without a proven address", async ({
    here,
    mails,
  }) => {
    const email = `more-${here.workspaceId}@example.com`;
    const browser = new Browser(here.node.url);
    await browser.auth("POST", "sign-up", { email });
    await browser.auth("POST", `links/${linkIn(await mails.mailTo(email))}`, NEW);
    const make = async (name: string) => (await browser.auth("POST", "workspaces", { name })).status;
    expect(await make("Second")).toBe(201);
    expect((await Promise.all([make("Third"), make("Fourth")])).sort()).toEqual([201, 403]);
    const { workspaces } = (await browser.auth("GET", "session")).body;
    expect(workspaces).toHaveLength(3);
    for (const { id } of workspaces) expect((await browser.api(id, "GET", "/v1/queues")).status).toBe(200);
    const unproven = await newPerson(here, { role: null, verified: false });
    expect((await unproven.auth("POST", "workspaces", { name: "Mine" })).status).toBe(403);
  });

  test("elsewhere nobody signs up, and only operators make workspaces", async ({ service }) => {
    const person = await newPerson(service);
    expect((await person.auth("GET", "session")).body.sign_in).toMatchObject({ sign_up: "closed", mail: false });
    expect((await person.auth("POST", "sign-up", { email: "x@example.com" })).status).toBe(403);
    expect((await person.auth("POST", "workspaces", { name: "Mine" })).status).toBe(403);
  });
});
