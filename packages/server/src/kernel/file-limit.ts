import { readFileSync } from "node:fs";

/** The limit that is assumed where it is not known: the lowest of the usual ones. */
const DEFAULT_FILES = 1_024;
/** An idle connection takes memory, too: about 10 kB. */
const MAX_CONNECTIONS = 10_000;
/** Connections and sockets of the internal listener, the log, name servers, files that are being read. */
const OWN_FILES = 184;
/** How many sockets the clients' port has, if there are enough files for them, and otherwise. */
const MANY_SOCKETS = 64;
const FEW_SOCKETS = 8;
/** Callbacks in flight have a connection each, and some more are kept open for the next callbacks. */
const FILES_PER_CALLBACK = 1.5;

export interface FileUse {
  readonly callbacksInFlight: number;
  readonly databaseConnections: number;
}

/** How many sockets the clients' port has in a process that may have this many files open. */
export const portSockets = (files: number): number => (files >= DEFAULT_FILES ? MANY_SOCKETS : FEW_SOCKETS);

/** How many of a process's files its clients' connections may take: what other parts leave, but a quarter in any case. */
export function defaultMaxConnections(files: number, { callbacksInFlight, databaseConnections }: FileUse): number {
  const shared = Math.max(0, files - OWN_FILES - portSockets(files) - databaseConnections);
  const left = shared - Math.ceil(FILES_PER_CALLBACK * callbacksInFlight);
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.max(left, Math.floor(shared / 4))));
}

/** The maximum number of files and sockets that this process may have open. Node raises it as far as allowed when it starts. */
export function readFileLimit(path = "/proc/self/limits"): number {
  try {
    return parseFileLimit(readFileSync(path, "utf8"));
  } catch {
    return DEFAULT_FILES;
  }
}

/** The soft limit in the text of `/proc/self/limits`. */
export function parseFileLimit(text: string): number {
  const [, soft] = /^Max open files\s+(\S+)/m.exec(text) ?? [];
  if (soft === "unlimited") return Number.MAX_SAFE_INTEGER;
  return Number(soft) > 0 ? Number(soft) : DEFAULT_FILES;
}
