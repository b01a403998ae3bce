import type { OwnNewWorkspace } from "@tidemill/contract";
import { type Db, type PersonId, problem, typeId, type WorkspaceId } from "#kernel";
import { createWorkspaceFor, showWorkspaceId } from "#workspaces";
import { countAdminOf, insertMembership } from "./members/membership-store.ts";
import type { PeopleContext } from "./people-context.ts";
import { lockPerson } from "./person-store.ts";

/** Limits how many free executions a stranger can get. */
const MAX_OWN_WORKSPACES = 3;

/** Makes a workspace on the plan Free, with the person as its admin and without a key. Source: contract §13. */
export async function makeOwnWorkspace(tx: Db, context: PeopleContext, personId: PersonId, name: string): Promise<WorkspaceId> {
  const workspaceId = await createWorkspaceFor(tx, context, { name, plan: "free" }, typeId("usr", personId));
  await insertMembership(tx, workspaceId, personId, "admin");
  return workspaceId;
}

/**
 * Makes another workspace for a person who is signed in, if strangers can sign up.
 *
 * @throws FORBIDDEN if they cannot, without a proven address, and for more than three
 */
export async function addOwnWorkspace(context: PeopleContext, personId: PersonId, { name }: OwnNewWorkspace): Promise<{ id: string }> {
  if (!context.signUpIsOpen) throw problem("FORBIDDEN", {}, { message: "Only operators make workspaces here." });
  return context.database.transaction(async (tx) => {
    // Two requests at the same time would make one too many.
    const person = await lockPerson(tx, personId);
    if (!person?.verified) throw problem("FORBIDDEN", {}, { message: "Confirm your mail address first." });
    if ((await countAdminOf(tx, personId)) >= MAX_OWN_WORKSPACES) {
      throw problem(
        "FORBIDDEN",
        { limit: MAX_OWN_WORKSPACES },
        { message: "You are an administrator of as many workspaces as you may make." },
      );
    }
    return { id: showWorkspaceId(await makeOwnWorkspace(tx, context, personId, name.trim())) };
  });
}
