import { describe, expect } from "vitest";
import { type PersonId, type Uuid, uuidOf } from "#kernel";
import { removePerson } from "../../src/people/members/manage.ts";
import { insertIdentity } from "../../src/people/oidc/identity-store.ts";
import { insertPasskey } from "../../src/people/second-factors/passkey-store.ts";
import { test } from "../harness/engine.ts";
import { Browser, newPerson } from "../harness/people.ts";

describe("what somebody with a stolen session does while the person is reset", () => {
  test("passkeys and accounts of a provider that were being added are not", async ({ service, engine, database }) => {
    const { email } = await newPerson(service);
    const [person] = await database.query<{ id: PersonId; version: number }>(
      "select id, credentials_version as version from person where email = $1",
      [email],
    );
    if (!person) throw new Error("There is no such person.");
    const add = async (version: number, name: string) => {
      const passkey = { name, rpId: "localhost", credentialId: name, publicKey: Buffer.of(1), counter: 0, transports: [] };
      const id = crypto.randomUUID() as Uuid;
      const added = await insertPasskey(engine, { id, personId: person.id, version, ...passkey });
      return [added !== null, await insertIdentity(engine, "https://id.example.com", name, { id: person.id, version })];
    };
    expect(await add(person.version, `${person.id} before`)).toEqual([true, true]);
    await database.query("update person set credentials_version = credentials_version + 1 where id = $1", [person.id]);
    expect(await add(person.version, `${person.id} after`)).toEqual([false, false]);
  });

  test("the invitations of somebody who is removed by command are gone", async ({ service, engine }) => {
    const person = await newPerson(service);
    const { url } = (await person.api(service.workspaceId, "POST", "/v1/invitations", { role: "admin" })).body;
    const audit = { record: async () => {} } as never;
    expect(await removePerson(engine, { audit }, person.email, true)).toBe(uuidOf("usr", person.id));
    const reply = await new Browser(service.node.url).auth("GET", `links/${url.split("/").at(-1)}`);
    expect(reply.status).toBe(404);
  });
});
