/** The columns of a list of keys, which operators read from the database and users of the API from the service. */
export const KEY_COLUMNS = ["id", "name", "role", "queues", "workflows", "expires_at", "last_used_at", "created_at"];
