import { type ConnectionLimit, type DatabaseFacts, judgeRoom, listMigrations, type SchemaState } from "@tidemill/server";

/** What one check of `tidemill doctor` found. */
export interface Finding {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed";
  readonly message: string;
}

const OLDEST_POSTGRES = 150_000;
/** A callback's timestamp may differ from the receiver's clock by 300 s. Half of that is left to the receiver's own clock. Milliseconds. */
const CLOCK_WARNING_MS = 1_000;
const CLOCK_FAILURE_MS = 150_000;
const MIB = 1024 * 1024;
const DISK_FAILURE_BYTES = 256 * MIB;
const DISK_WARNING_BYTES = 2048 * MIB;
const FILES_WARNING = 8_192;

const finding = (check: string, status: Finding["status"], message: string): Finding => ({ check, status, message });

/** @param nowMs this machine's clock, milliseconds since 1970 */
export function judgeDatabase(facts: DatabaseFacts, nowMs: number): Finding[] {
  const { version, version_number, fsync, full_page_writes, encoding, may_create, now_ms } = facts;
  const skewMs = Math.round(nowMs - now_ms);
  const durable = fsync && full_page_writes;
  const isUtf8 = encoding === "UTF8";
  return [
    finding("database version", version_number < OLDEST_POSTGRES ? "failed" : "ok", `PostgreSQL ${version}; 15 or later is needed.`),
    judgeWrites(facts),
    finding(
      "database durability",
      durable ? "ok" : "failed",
      durable ? "fsync and full_page_writes are on." : "fsync or full_page_writes is off: a crash may lose accepted jobs.",
    ),
    finding("database encoding", isUtf8 ? "ok" : "failed", `The encoding is ${encoding}; UTF8 is needed.`),
    finding(
      "database privileges",
      may_create ? "ok" : "failed",
      may_create ? "The user may create the schema." : "The user may not create schemas in this database: GRANT CREATE ON DATABASE … TO …",
    ),
    finding(
      "clock",
      grade(Math.abs(skewMs)),
      `This machine's clock differs by ${skewMs} ms from the database's clock, which is the one that Tidemill uses.`,
    ),
  ];
}

export function judgeSchema({ isEmpty, pending, unknown }: SchemaState): Finding {
  if (unknown.length > 0)
    return finding(
      "schema",
      "failed",
      `A newer version of Tidemill has upgraded the database: this version does not know ${listMigrations(unknown)}. No node of this version starts.`,
    );
  if (isEmpty) return finding("schema", "ok", "The database is empty. The first start creates the schema.");
  if (pending.length > 0)
    return finding(
      "schema",
      "warning",
      `The database is of an older version of Tidemill: ${listMigrations(pending)} pending. The next start of a node of this version upgrades it. Make a backup before.`,
    );
  return finding("schema", "ok", "It is the schema of this version.");
}

function judgeWrites({ is_standby, is_read_only }: DatabaseFacts): Finding {
  if (is_standby) return finding("database role", "failed", "It is a standby, which refuses writes.");
  if (!is_read_only) return finding("database role", "ok", "It accepts writes.");
  const message =
    "It refuses writes: default_transaction_read_only is on, for the server, the database or the user. Providers switch it on when the disk is full.";
  return finding("database role", "failed", message);
}

/** @param host where the database is. Null: the embedded one */
export function judgeEncryption(host: string | null, isEncrypted: boolean): Finding {
  if (isEncrypted) return finding("database encryption", "ok", "The connection uses TLS.");
  if (host === null || isLocal(host)) return finding("database encryption", "ok", "The connection does not leave this machine.");
  const message = `The connection to ${host} is not encrypted. Add sslmode=verify-full to DATABASE_URL, unless the network is protected otherwise.`;
  return finding("database encryption", "warning", message);
}

/** Whether a host is this machine: the directory of a Unix socket, or a loopback address. */
const isLocal = (host: string): boolean => /^$|^\/|^127\.|^(\[?::1\]?|(.*\.)?localhost)$/i.test(host);

const ROOM_STATUS = { ok: "ok", scarce: "warning", "too few": "failed" } as const;

/** @param wanted the largest number that a node opens */
export function judgeConnections(limits: readonly ConnectionLimit[], wanted: number): Finding {
  const { status, message } = judgeRoom(limits, wanted);
  return finding("database connections", ROOM_STATUS[status], message);
}

const grade = (skewMs: number): Finding["status"] => (skewMs > CLOCK_FAILURE_MS ? "failed" : skewMs > CLOCK_WARNING_MS ? "warning" : "ok");

export function judgeDisk(directory: string, freeBytes: number): Finding {
  const status = freeBytes < DISK_FAILURE_BYTES ? "failed" : freeBytes < DISK_WARNING_BYTES ? "warning" : "ok";
  const wanted = `A node needs ${DISK_FAILURE_BYTES / MIB} MiB for its embedded PostgreSQL, and should have ${DISK_WARNING_BYTES / MIB} MiB.`;
  return finding("disk", status, `${Math.floor(freeBytes / MIB)} MiB are free for ${directory}. ${wanted}`);
}

export const judgeFiles = (limit: number): Finding =>
  finding(
    "open files",
    limit < FILES_WARNING ? "warning" : "ok",
    limit === Number.MAX_SAFE_INTEGER
      ? "There is no limit."
      : `The limit is ${limit} open files; each callback and each client needs one. See ulimit -n.`,
  );

/** The listener on a port: none, a node, or something else. */
export type PortUse = "free" | "node" | "taken" | "forbidden";

const PORT_MESSAGES: Readonly<Record<PortUse, readonly [Finding["status"], string]>> = {
  free: ["ok", "is free."],
  node: ["ok", "has a running node."],
  taken: ["failed", "is used by another program."],
  forbidden: ["failed", "cannot be opened by this user on this address."],
};

export function judgePort(check: string, port: number, use: PortUse): Finding {
  const [status, message] = PORT_MESSAGES[use];
  return finding(check, status, `Port ${port} ${message}`);
}

/** @param missing ids of keys that wrap secrets, and that this configuration does not have */
export function judgeMasterKey(given: readonly string[], missing: readonly string[]): Finding {
  if (missing.length > 0)
    return finding("master key", "failed", `Secrets need the master key ${missing.join(" and ")}, which is not configured.`);
  return finding("master key", "ok", given.length > 0 ? `${given.join(" and ")} opens all secrets.` : "The first start creates one.");
}
