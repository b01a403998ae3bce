import type { Session } from "@tidemill/contract";
import { type Db, typeId } from "#kernel";
import { showWorkspaceId } from "#workspaces";
import { listOfSessionAcrossWorkspaces } from "../members/membership-store.ts";
import type { SessionRow } from "./session-store.ts";

/** Who is signed in, as the pages need it. */
export async function showSession(db: Db, session: SessionRow | null, signIn: Session["sign_in"]): Promise<Session> {
  if (!session) return { person: null, workspaces: [], confirmed_until: null, sign_in: signIn };
  const workspaces = await listOfSessionAcrossWorkspaces(db, session.sessionId);
  return {
    person: {
      id: typeId("usr", session.personId),
      name: session.name,
      email: session.email,
      email_verified: session.emailVerified,
      operator: session.operator,
      more_by_provider: session.moreByProvider,
      has_password: session.hasPassword,
      totp: session.totp,
    },
    workspaces: workspaces.map(({ id, ...workspace }) => ({ id: showWorkspaceId(id), ...workspace })),
    confirmed_until: session.confirmedUntil,
    sign_in: signIn,
  };
}
