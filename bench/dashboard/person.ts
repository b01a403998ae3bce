import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Db, row, sql, typeId, type Uuid } from "../../packages/server/src/kernel/index.ts";

/** Makes an administrator of the workspace, who is signed in. Returns the value of the session's cookie. */
export async function signedIn(db: Db): Promise<{ workspaceId: string; cookie: string }> {
  const cookie = randomBytes(32).toString("base64url");
  const hash = createHash("sha256").update(cookie).digest();
  const made = await row<{ id: Uuid }>(
    db,
    sql`
      with person as (
        insert into person (id, name, email, email_verified_at) values (${randomUUID()}, 'Bench', ${`${randomUUID()}@example.com`}, moment())
        returning id, credentials_version
      ), made as (
        insert into membership (workspace_id, person_id, role) select workspace.id, person.id, 'admin' from workspace, person returning workspace_id
      ), session as (
        insert into session (id, person_id, token_hash, credentials_version, signed_in_with, expires_at)
        select ${randomUUID()}, id, ${hash}, credentials_version, 'password', moment() + interval '1 day' from person
      )
      select workspace_id as id from made limit 1`,
  );
  if (!made) throw new Error("There is no workspace.");
  return { workspaceId: typeId("ws", made.id), cookie };
}
