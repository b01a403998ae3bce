const AT = "2026-11-21T11:00:00.000Z";
/** Rows of a page, as the dashboard asks for them. */
const PAGE_ROWS = 100;
/** Most rows come in larger pages: a thousand of the real ones would take minutes. */
const BULK_ROWS = 2_000;

/** Rows that come in large pages, before those of the real size. */
export const bulkOf = (rows: number): number => rows - BULK_ROWS;

/** A page of a list of runs, as `GET /v1/runs` returns it, of as many as are wanted. */
export function runsPage(query: URLSearchParams, rows: number): unknown {
  const from = Number(query.get("cursor") ?? 0);
  const to = Math.min(rows, from + (from < bulkOf(rows) ? BULK_ROWS : PAGE_ROWS));
  const data = Array.from({ length: to - from }, (_, at) => runOf(from + at));
  return { data, next_cursor: to < rows ? String(to) : null };
}

const runOf = (at: number) => ({
  runId: `run_${String(at).padStart(26, "0")}`,
  workflowId: `flow ${at}`,
  version: null,
  status: "completed",
  attempt: 1,
  attempts: 3,
  trigger: { type: "api" },
  parentRunId: null,
  idempotencyKey: null,
  error: null,
  nextAttemptAt: null,
  createdAt: AT,
  startedAt: AT,
  endedAt: AT,
});

/** A run with many steps, of which each hundredth sleeps. */
export function longRun(run: object, steps: number): unknown {
  const began = Date.parse(AT);
  const step = (at: number) => ({
    key: `step ${at}`,
    type: at % 100 === 99 ? "sleep" : "run",
    status: "completed",
    output: { at },
    error: null,
    attempt: 1,
    startedAt: new Date(began + at * 100).toISOString(),
    endedAt: new Date(began + at * 100 + 80).toISOString(),
    wakeAt: null,
    signal: null,
    undoable: false,
  });
  return { ...run, status: "running", steps: Array.from({ length: steps }, (_, at) => step(at)), createdAt: AT, startedAt: AT };
}
