import { exitCodeOf } from "./exit-code.ts";
import { printable } from "./output/table.ts";

/** Messages for errors of the operating system that the operator can fix with a setting. */
const MESSAGES: Record<string, (error: NodeJS.ErrnoException & { port?: number; address?: string; hostname?: string }) => string> = {
  EADDRINUSE: ({ port }) => `Port ${port} is in use. Set TIDEMILL_PORT (API) or TIDEMILL_INTERNAL_PORT (metrics) to another one.`,
  EADDRNOTAVAIL: ({ address }) =>
    `This machine does not have the address ${address}. Set TIDEMILL_HOST (API) or TIDEMILL_INTERNAL_HOST (metrics) to one that it has.`,
  ENOTFOUND: ({ hostname }) =>
    `The name ${hostname} has no address. Set TIDEMILL_HOST (API) or TIDEMILL_INTERNAL_HOST (metrics) to another name or to an address.`,
  ENOSPC: () =>
    "The disk is full. With the embedded PostgreSQL, even a command that only reads writes small files to the data directory. Free some space, and try again.",
  EACCES: ({ port, message }) =>
    port ? `This user may not open port ${port}. Set TIDEMILL_PORT (API) or TIDEMILL_INTERNAL_PORT (metrics) to one above 1023.` : message,
};

const MAX_ISSUES = 3;

/** A message is a sentence, or the rest of one that begins with the path. */
const sentenceOf = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  `${/^[A-Z]/.test(message) ? message : `${path || "The request"} ${message}`}${/[.?]$/.test(message) ? "" : "."}`;

/** What is wrong, and what the database has said: operators may know it. */
const withCause = (error: NodeJS.ErrnoException): string =>
  error.code === "UNAVAILABLE" && error.cause instanceof Error
    ? `${error.message} ${error.cause.message}`
    : (error.message ?? String(error));

/** Prints what is wrong on one line and exits with the code of the error. The stack is printed only when the log level is debug. */
export function exitWithError(error: unknown): never {
  const known = error as NodeJS.ErrnoException & { details?: { issues?: { path: string; message: string }[] } };
  const issues = known.details?.issues?.slice(0, MAX_ISSUES).map(sentenceOf) ?? [];
  const line = MESSAGES[known.code ?? ""]?.(known) ?? (issues.join(" ") || withCause(known));
  process.stderr.write(`tidemill: ${printable(line.split("\n")[0] ?? "")}\n`);
  if (process.env.TIDEMILL_LOG_LEVEL === "debug") process.stderr.write(`${known.stack ?? ""}\n`);
  process.exit(exitCodeOf(error));
}
