import type { Db, PersonId } from "#kernel";
import { recordFor } from "../account-log.ts";
import { deleteIdentities } from "../oidc/identity-store.ts";
import { lockPerson, updatePassword } from "../person-store.ts";
import { deletePasskeys } from "../second-factors/passkey-store.ts";
import { deleteRecoveryCodes, deleteTotp } from "../second-factors/totp-store.ts";
import { deleteDevices } from "../sessions/known-device-store.ts";
import { deleteSessions } from "../sessions/session-store.ts";
import { deleteLinksOf } from "./link-store.ts";
import { type LinkContext, makeLink } from "./make-link.ts";

const RESET_HOURS = 2;

/** Makes a link with which a person sets a new password. If there are several, the last one counts. */
export async function makeResetLink(
  db: Db,
  context: LinkContext,
  { personId, email, createdBy }: { personId: PersonId /** Where it is sent; null: it is not. */; email: string | null; createdBy: string },
): Promise<string> {
  await lockPerson(db, personId);
  await deleteLinksOf(db, personId);
  await recordFor(db, context, personId, createdBy, "reset_link.made", email);
  const terms = { kind: "reset", personId, email, mailed: email !== null, createdBy, hours: RESET_HOURS } as const;
  return (await makeLink(db, context, terms)).url;
}

/** Removes all credentials of a person, and ends their sessions. */
export async function dropCredentials(tx: Db, personId: PersonId): Promise<void> {
  await updatePassword(tx, personId, null, null);
  await deletePasskeys(tx, personId);
  await deleteTotp(tx, personId);
  await deleteRecoveryCodes(tx, personId);
  await deleteIdentities(tx, personId);
  await deleteDevices(tx, personId);
  await deleteSessions(tx, personId, null);
}
