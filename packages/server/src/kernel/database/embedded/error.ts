/** Why there is no embedded PostgreSQL; what callers match on. */
export type EmbeddedPostgresFault =
  | "PLATFORM_UNSUPPORTED"
  | "BINARIES_UNUSABLE"
  | "NO_UNPRIVILEGED_USER"
  | "DATA_DIR_NOT_WRITABLE"
  | "DATA_DIR_UNREACHABLE"
  | "DATA_OF_ANOTHER_VERSION"
  | "DATA_NOT_OURS"
  | "UNSAFE_DIRECTORY"
  | "IN_USE_ELSEWHERE"
  | "START_FAILED";

/** The embedded PostgreSQL cannot be had. The message is one line for the person who started the node. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly code: EmbeddedPostgresFault;

  constructor(code: EmbeddedPostgresFault, what: string, options?: ErrorOptions) {
    super(`${what} With DATABASE_URL you can use a PostgreSQL of your own instead.`, options);
    this.code = code;
  }
}
