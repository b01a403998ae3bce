export { readPublicUrl } from "./base-url.ts";
export { removeInvitations } from "./invitation-store.ts";
export { removeMemberships } from "./membership-store.ts";
export * from "./people.ts";
export { makeSetupLink } from "./setup-link.ts";
