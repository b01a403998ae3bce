import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createAdminContext, DatabaseClock, readPublicUrl, systemRandom } from "@tidemill/server";
import { expect } from "vitest";
import { type Database, type PersonId, type Statement, sql, uuidOf } from "#kernel";
import { makeResetLink } from "../../src/people/links/reset.ts";
import { test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { Browser, newPerson, PASSWORD, type TestPerson } from "../harness/people.ts";
import type { Service } from "../harness/service.ts";

/** Makes a link of a person. Returns its token. */
async function newLink({ database }: Service, kind: "reset" | "verify", { id, email }: TestPerson): Promise<string> {
  const token = randomBytes(32).toString("base64url");
  await database.query(
    `insert into link (id, kind, token_hash, email, person_id, mailed, created_by, expires_at)
     values ($1, $2, $3, $4, $5, true, 'system', moment() + interval '1 hour')`,
    [randomUUID(), kind, createHash("sha256").update(token).digest(), email, uuidOf("usr", id)],
  );
  return token;
}

/** Lets both wait for a lock, the first one in front, and releases it. */
async function both<One, Other>(
  engine: Database,
  lock: Statement,
  first: () => Promise<One>,
  second: () => Promise<Other>,
): Promise<[One, Other]> {
  const held = hold(engine, lock);
  await held.held;
  try {
    const one = first();
    await held.untilWaiting(1);
    const other = second();
    await held.untilWaiting(2);
    await held.release();
    return await Promise.all([one, other]);
  } finally {
    await held.release();
  }
}

const reset = (service: Service, token: string) =>
  new Browser(service.node.url).auth("POST", `links/${token}`, { password: "a new password of theirs" });

test("an address is confirmed while the password is reset", async ({ service, engine }) => {
  const person = await newPerson(service);
  const [verifies, resets] = [await newLink(service, "verify", person), await newLink(service, "reset", person)];
  const lock = sql`select from link where person_id = ${uuidOf("usr", person.id)} and kind = 'verify' for update`;
  const replies = await both(
    engine,
    lock,
    () => person.auth("POST", `links/${verifies}`, {}),
    () => reset(service, resets),
  );
  expect(replies.map(({ status }) => status)).toEqual([204, 204]);
});

test("another link is asked for while the password is reset by the first one", async ({ service, engine }) => {
  const person = await newPerson(service);
  const personId = uuidOf("usr", person.id) as PersonId;
  const token = await newLink(service, "reset", person);
  const context = { ...createAdminContext(new DatabaseClock(), systemRandom), publicUrl: readPublicUrl(null), nodeUrl: () => "" };
  const make = () => engine.transaction((tx) => makeResetLink(tx, context, { personId, email: person.email, createdBy: "system" }));
  const lock = sql`select from link where person_id = ${personId} for update`;
  const [link, reply] = await both(engine, lock, make, () => reset(service, token));
  expect(reply.status).toBe(404);
  expect((await reset(service, link.split("/").at(-1) ?? "")).status).toBe(204);
});

test("somebody confirms that it is them while their password is reset", async ({ service, engine }) => {
  const person = await newPerson(service);
  const token = await newLink(service, "reset", person);
  const lock = sql`select from session where person_id = ${uuidOf("usr", person.id)} for update`;
  const [confirmed, replaced] = await both(
    engine,
    lock,
    () => person.auth("POST", "confirm", { password: PASSWORD }),
    () => reset(service, token),
  );
  expect([confirmed.status, replaced.status]).toEqual([204, 204]);
  expect((await person.auth("GET", "session")).body.person).toBeNull();
});

test("two people who take the same address at the same time: one gets it", async ({ service, engine }) => {
  const people = [await newPerson(service), await newPerson(service)] as const;
  const email = `${randomUUID()}@example.com`;
  const change = (person: TestPerson) => () => person.auth("PATCH", "profile", { email });
  const replies = await both(engine, sql`lock table person in share mode`, change(people[0]), change(people[1]));
  expect(replies.map(({ status }) => status).toSorted()).toEqual([204, 409]);
});
