/** The columns of a list of invitations, which operators read from the database and users of the API from the service. */
export const INVITATION_COLUMNS = ["id", "role", "email", "created_by", "created_at", "expires_at"];
