export { showAccountEvent } from "./account-log.ts";
export { readPublicUrl } from "./base-url.ts";
export { listInvitations, removeInvitations } from "./links/invitation-store.ts";
export { revokeInvitation, showInvitation } from "./links/invitations.ts";
export { makeSetupLink } from "./links/setup-link.ts";
export { addPerson, changeOperator, listEventsOf, removePerson, resetPerson } from "./members/manage.ts";
export { removeMemberships } from "./members/membership-store.ts";
export * from "./people.ts";
export { listPeople } from "./person-store.ts";
