import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";

/** A transaction that holds a lock for which another session waits. */
export interface Blocker {
  /** What an operator needs to find its session and to decide whether to end it. */
  readonly description: string;
  /** PostgreSQL's name of the transaction, while it is open. Null: it cannot be known when it ends, or need not, because PostgreSQL ends it. */
  readonly transaction: string | null;
}

/** How often to look which sessions block. PostgreSQL stops its lock manager for each look, but only while a session waits. Milliseconds. */
const LOOK_EVERY_MS = 50;

interface Row {
  readonly pid: number;
  readonly application: string | null;
  readonly role: string | null;
  readonly state: string | null;
  readonly backend: string | null;
  readonly open_seconds: number | null;
  readonly transaction: string | null;
}

/**
 * Runs `work`, and returns its result with the transactions for whose locks the session `pid` waited last.
 *
 * @param signal cancels the statements of the session
 */
export async function watchBlockers<Result>(
  watcher: pg.Client,
  pid: number,
  work: Promise<Result>,
  signal?: AbortSignal,
): Promise<{ result: Result; blockers: readonly Blocker[] }> {
  let isDone = false;
  let blockers: readonly Blocker[] = [];
  const watch = async () => {
    while (!isDone) {
      // Again until the work ends: between two statements it has no effect.
      if (signal?.aborted) await watcher.query("select pg_cancel_backend($1)", [pid]);
      const found = await listBlockers(watcher, pid);
      if (found.length > 0) blockers = found;
      await wait(LOOK_EVERY_MS);
    }
  };
  const [result] = await Promise.all([
    work.finally(() => {
      isDone = true;
    }),
    watch(),
  ]);
  return { result, blockers };
}

/** Those of `blockers` that are still open, described as they are now. */
export async function listOpen(watcher: pg.Client, blockers: readonly Blocker[]): Promise<Blocker[]> {
  const transactions = blockers.flatMap(({ transaction }) => transaction ?? []);
  if (transactions.length === 0) return [];
  return describe(watcher, "(select distinct pid from pg_locks where virtualtransaction = any($1) and pid is not null)", transactions);
}

/** The transactions that hold the lock for which the session `pid` waits, or are before it in the queue. */
const listBlockers = (watcher: pg.Client, pid: number): Promise<Blocker[]> =>
  describe(
    watcher,
    `(select distinct unnest(pg_blocking_pids(w.pid)) as pid from pg_stat_activity w where w.pid = $1 and w.wait_event_type = 'Lock')`,
    pid,
  );

async function describe(watcher: pg.Client, sessions: string, value: unknown): Promise<Blocker[]> {
  const { rows } = await watcher.query<Row>(
    `select s.pid, nullif(a.application_name, '') as application, a.usename as role, a.state, a.backend_type as backend,
       extract(epoch from clock_timestamp() - a.xact_start)::int as open_seconds,
       (select min(l.virtualtransaction) from pg_locks l where l.pid = s.pid) as transaction
     from ${sessions} s left join pg_stat_activity a on a.pid = s.pid order by s.pid`,
    [value],
  );
  // Only processes of PostgreSQL have no role, such as an autovacuum. Their type is hidden from other users.
  return rows.map((row) => ({ description: describeRow(row), transaction: row.role === null ? null : row.transaction }));
}

function describeRow({ pid, application, role, state, backend, open_seconds }: Row): string {
  // It has no session.
  if (pid === 0) return "a prepared transaction (see pg_prepared_xacts)";
  const session = role === null ? (backend ?? "a process of PostgreSQL") : `${application ?? backend ?? "unknown"} of ${role}`;
  const age = open_seconds === null ? "" : `, its transaction open for ${open_seconds} s`;
  return `pid ${pid} (${session}, ${state ?? "state unknown"}${age})`;
}
