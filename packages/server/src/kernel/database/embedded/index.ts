export { EmbeddedPostgresError, type EmbeddedPostgresFault } from "./error.ts";
export { type EmbeddedPostgres, startEmbeddedPostgres } from "./start.ts";
