import type { TakeLink } from "@tidemill/contract";
import { type Db, invalid, notFound, type ProblemError, problem } from "#kernel";
import { hashToken } from "../sessions/token.ts";
import { findLinkAcrossWorkspaces, type LinkRow } from "./link-store.ts";

/** The error is the same for a link that was used, that has expired, or that never existed. */
export const linkNotFound = (): ProblemError => notFound({ resource: "link" });

/** @throws NOT_FOUND for a link that cannot be used, or not any more */
export async function findLink(db: Db, token: string): Promise<LinkRow> {
  const hash = hashToken(token);
  const link = hash && (await findLinkAcrossWorkspaces(db, hash));
  if (!link) throw linkNotFound();
  return link;
}

/** @throws VALIDATION_ERROR when the field was not given */
export function given<Field extends keyof TakeLink>(fields: TakeLink, field: Field): NonNullable<TakeLink[Field]> {
  const value = fields[field];
  if (value === undefined) throw invalid(field, "is required");
  return value;
}

/** Only the owner of an account may say that it is theirs. */
export const signInRequired = (): ProblemError =>
  problem("UNAUTHORIZED", { sign_in_required: true }, { message: "There is an account with this mail address. Sign in to it first." });
