const AT = "2026-11-21T11:00:00.000Z";

/**
 * A page of a list of runs, as `GET /v1/runs` returns it.
 *
 * @param rows how many there are in all
 * @param sizeOf how many rows a page has that begins with that row
 */
export function runsPage(query: URLSearchParams, rows: number, sizeOf: (from: number) => number): unknown {
  const from = Number(query.get("cursor") ?? 0);
  const to = Math.min(rows, from + sizeOf(from));
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
