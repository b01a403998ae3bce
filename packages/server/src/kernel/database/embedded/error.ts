/** Why the embedded PostgreSQL cannot be used. Callers match on this code. */
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

/** The embedded PostgreSQL cannot be used. The message is one line for the person who started the node. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly code: EmbeddedPostgresFault;

  constructor(code: EmbeddedPostgresFault, what: string, options?: ErrorOptions) {
    super(`${what} Or set DATABASE_URL to use a PostgreSQL of your own.`, options);
    this.code = code;
  }
}
