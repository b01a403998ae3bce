import { type Db, uuidOf } from "#kernel";
import { type PeopleContext, pageUrl } from "../people-context.ts";
import { hashNewToken, makeToken } from "../sessions/token.ts";
import { insertLink, type NewLink } from "./link-store.ts";

export type LinkContext = Pick<PeopleContext, "random" | "ids" | "publicUrl" | "nodeUrl">;

/** What a link is for. Fields that are left out are null or false. */
export type LinkTerms = Pick<NewLink, "kind" | "createdBy" | "hours"> &
  Partial<Pick<NewLink, "workspaceId" | "role" | "email" | "personId" | "mailed">>;

/** Makes a link that can be used once. Its address is not stored. */
export async function makeLink(db: Db, context: LinkContext, terms: LinkTerms) {
  const token = makeToken(context.random);
  const id = context.ids.next();
  const none = { workspaceId: null, role: null, email: null, personId: null, mailed: false };
  const inserted = await insertLink(db, { ...none, ...terms, createdByKey: uuidOf("key", terms.createdBy), id, hash: hashNewToken(token) });
  if (!inserted) throw new Error("An insert returned no row.");
  return { id, url: pageUrl(context, `link/${token}`), createdAt: inserted.created_at, expiresAt: inserted.expires_at };
}
