import { describe, expect } from "vitest";
import { linkIn, MailServer } from "../harness/mail.ts";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { test as base, Service, startTestNode } from "../harness/service.ts";

const PUBLIC = "http://jobs.example.com/a/b";
const NEW = "an entirely new password";

/** A node that sends mail. */
const test = base
  .extend("mails", { scope: "file" }, async ({}, { onCleanup }) => {
    const server = await MailServer.listen();
    onCleanup(() => server.close());
    return server;
  })
  .extend("mailing", { scope: "file" }, async ({ database, clock, mails }, { onCleanup }) => {
    const node = await startTestNode(database, clock, { TIDEMILL_SMTP_URL: mails.url, TIDEMILL_PUBLIC_URL: PUBLIC });
    onCleanup(() => node.stop());
    return node;
  })
  .extend("here", async ({ service, mailing, database, clock }) => {
    await database.query("delete from throttle");
    return new Service(mailing, database, clock, { id: service.workspaceId, key: service.key });
  });

const browserOf = ({ node }: Service) => new Browser(node.url);

describe("invitations by mail", () => {
  test("an invitation is sent to its address, and does not prove it", async ({ here, mails }) => {
    const email = `${here.workspaceId}@example.com`;
    const made = await here.ok("POST", "/v1/invitations", { role: "read", email });
    expect(made).toMatchObject({ mailed: true, email });
    const mail = await mails.mailTo(email);
    expect(mail.text).toContain(`${PUBLIC}/dashboard/link/${linkIn(mail)}`);
    expect(made.url).toBe(`${PUBLIC}/dashboard/link/${linkIn(mail)}`);
    // Words of the workspace's people are not in it.
    expect(mail.text).not.toContain("Test");
    const guest = browserOf(here);
    expect((await guest.auth("POST", `links/${linkIn(mail)}`, { name: "Guest", password: NEW })).status).toBe(204);
    expect((await guest.auth("GET", "session")).body.person).toMatchObject({ email, email_verified: false });
  });

  test("five invitations an hour to an address do not keep its owner from setting a new password", async ({ here, mails }) => {
    const { email } = await newPerson(here, { role: null });
    const invite = () => here.api("POST", "/v1/invitations", { role: "read", email });
    for (let n = 0; n < 5; n += 1) expect((await invite()).status).toBe(201);
    expect((await invite()).status).toBe(429);
    expect((await browserOf(here).auth("POST", "reset", { email })).status).toBe(204);
    const { text } = await mails.mailTo(email, 6);
    expect(text).toContain("Set a new password");
  });
});

describe("a new password by mail", () => {
  test("the link sets it once; the old one and all sessions end", async ({ here, mails }) => {
    const person = await newPerson(here);
    const browser = browserOf(here);
    expect((await browser.auth("POST", "reset", { email: ` ${person.email.toUpperCase()} ` })).status).toBe(204);
    const token = linkIn(await mails.mailTo(person.email));
    expect((await browser.auth("GET", `links/${token}`)).body).toMatchObject({ kind: "reset", email: person.email });
    // Asking changes nothing yet.
    expect((await person.auth("GET", "session")).body.person).toMatchObject({ id: person.id });
    expect((await browser.auth("POST", `links/${token}`, { password: NEW })).status).toBe(204);
    expect((await browser.auth("GET", "session")).body.person).toMatchObject({ id: person.id, email_verified: true });
    expect((await person.auth("GET", "session")).body.person).toBeNull();
    const again = browserOf(here);
    expect((await again.auth("POST", `links/${token}`, { password: NEW })).status).toBe(404);
    expect((await again.auth("POST", "sign-in", { email: person.email, password: PASSWORD })).status).toBe(401);
    expect((await again.auth("POST", "sign-in", { email: person.email, password: NEW })).status).toBe(204);
  });

  test("an address that nobody has gets the same answer and no mail", async ({ here, mails }) => {
    const before = mails.received.length;
    const reply = await browserOf(here).auth("POST", "reset", { email: "nobody@example.com" });
    expect([reply.status, reply.text]).toEqual([204, ""]);
    const { email } = await newPerson(here);
    await browserOf(here).auth("POST", "reset", { email });
    await mails.mailTo(email);
    expect(mails.received.slice(before).map(({ to }) => to)).toEqual([[email]]);
  });

  test("who proves an address gets an account without what others added to it before", async ({ here, mails, database }) => {
    // Somebody has made an account with another's address.
    const planted = await newPerson(here, { verified: false });
    const { secret } = (await planted.auth("POST", "totp")).body;
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    await database.query("update totp set enabled_at = moment()");
    const [person] = await database.query<{ id: string }>("select id from person where email = $1", [planted.email]);
    await database.query(
      "insert into passkey (id, person_id, name, rp_id, credential_id, public_key, counter) values (gen_random_uuid(), $1::uuid, 'x', 'x', $1::text, '', 0)",
      [person?.id],
    );
    await database.query("insert into identity (issuer, subject, person_id) values ('https://id.example.com', $1::text, $1::uuid)", [
      person?.id,
    ]);
    const owner = browserOf(here);
    await owner.auth("POST", "reset", { email: planted.email });
    expect((await owner.auth("POST", `links/${linkIn(await mails.mailTo(planted.email))}`, { password: NEW })).status).toBe(204);
    expect((await owner.auth("GET", "session")).body.person).toMatchObject({ id: planted.id, email_verified: true, totp: false });
    for (const table of ["passkey", "identity", "totp", "recovery_code"]) {
      expect(await database.query(`select from ${table} where person_id = $1`, [person?.id])).toEqual([]);
    }
    expect((await planted.auth("GET", "session")).body.person).toBeNull();
  });

  test("a person with an authenticator still needs it", async ({ here, mails, database }) => {
    const person = await newPerson(here);
    await person.auth("POST", "totp");
    await database.query("update totp set enabled_at = moment()");
    const browser = browserOf(here);
    await browser.auth("POST", "reset", { email: person.email });
    const reply = await browser.auth("POST", `links/${linkIn(await mails.mailTo(person.email))}`, { password: NEW });
    expect([reply.status, reply.headers.get("set-cookie")]).toEqual([204, null]);
    const signIn = await browser.auth("POST", "sign-in", { email: person.email, password: NEW });
    expect(signIn.body.error.details).toEqual({ code_required: true });
  });

  test("a link is good for two hours, and the last one alone", async ({ here, mails }) => {
    const { email } = await newPerson(here);
    const browser = browserOf(here);
    await browser.auth("POST", "reset", { email });
    const first = linkIn(await mails.mailTo(email));
    await browser.auth("POST", "reset", { email });
    const second = linkIn(await mails.mailTo(email, 2));
    expect((await browser.auth("GET", `links/${first}`)).status).toBe(404);
    expect((await browser.auth("GET", `links/${second}`)).status).toBe(200);
    await here.clock.advance(2 * 3600);
    expect((await browser.auth("POST", `links/${second}`, { password: NEW })).status).toBe(404);
  });
});

describe("a new mail address", () => {
  test("it becomes the person's when its owner, signed in, opens the link that is sent there", async ({ here, mails }) => {
    const person = await newPerson(here);
    const email = `new-${person.email}`;
    expect((await person.auth("PATCH", "profile", { email })).status).toBe(204);
    const token = linkIn(await mails.mailTo(email));
    expect((await person.auth("GET", "session")).body.person.email).toBe(person.email);
    // Its owner, who is somebody else, confirms nothing for an account that is not theirs.
    const stranger = await newPerson(here);
    for (const browser of [browserOf(here), stranger]) {
      expect((await browser.auth("POST", `links/${token}`, {})).status).toBe(401);
    }
    expect((await person.auth("POST", `links/${token}`, {})).status).toBe(204);
    expect((await person.auth("GET", "session")).body.person).toMatchObject({ email, email_verified: true });
  });

  test("one that somebody has gets no mail, and who asks does not learn it", async ({ here, mails }) => {
    const person = await newPerson(here);
    const other = await newPerson(here);
    const before = mails.received.length;
    expect((await person.auth("PATCH", "profile", { email: other.email })).status).toBe(204);
    expect((await person.auth("GET", "session")).body.person.email).toBe(person.email);
    expect(mails.received.length).toBe(before);
  });
});
