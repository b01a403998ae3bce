export { showAccountEvent } from "./account-log.ts";
export { readPublicUrl } from "./base-url.ts";
export { listInvitations, removeInvitations } from "./invitation-store.ts";
export { revokeInvitation, showInvitation } from "./invitations.ts";
export { addPerson, changeOperator, listEventsOf, removePerson, resetPerson } from "./manage.ts";
export { removeMemberships } from "./membership-store.ts";
export * from "./people.ts";
export { listPeople } from "./person-store.ts";
export { makeSetupLink } from "./setup-link.ts";
