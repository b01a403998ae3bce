import { setTimeout as sleep } from "node:timers/promises";
import { type CallOptions, type Tidemill, TidemillError } from "@tidemill/sdk";
import { Interrupts } from "../bulk/interrupts.ts";
import { InterruptedError } from "../exit-code.ts";
import { showCount, showProgress } from "../output/progress.ts";
import { printRecord } from "../output/table.ts";

/** Which dead letters are retried: of one queue or of all, and all of them or only those that match a filter. */
export interface RetryScope {
  readonly queue: string | undefined;
  readonly isFiltered: boolean;
}

/** Timeout of the request. A single one retries all jobs, however long that takes. Milliseconds. */
const TIMEOUT_MS = 3_600_000;
const LOOK_EVERY_MS = 500;

/** Retries dead letters. In a terminal it shows how many are left. Ctrl-C ends the wait, but not the work of the service. */
export async function retryWithProgress(
  tidemill: Tidemill,
  scope: RetryScope,
  retry: (call: CallOptions) => Promise<{ retried: number }>,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const ended = new AbortController();
  const interrupts = new Interrupts();
  const shown = process.stderr.isTTY ? showWhatIsLeft(tidemill, scope, ended.signal) : Promise.resolve();
  try {
    const done = await retry({ timeoutMs: TIMEOUT_MS, signal: interrupts.first }).finally(() => {
      ended.abort();
      return shown;
    });
    printRecord(done, json);
  } catch (error) {
    throw explained(error);
  } finally {
    interrupts.close();
  }
}

/** Says what is known about the jobs, and returns the error that ends the command. */
function explained(error: unknown): unknown {
  if (error instanceof InterruptedError) return new InterruptedError("Stopped waiting. The service continues and retries the rest.");
  if (error instanceof TidemillError && !error.neverSent && (error.status === null || error.status >= 500))
    process.stderr.write("tidemill: Jobs that were already retried stay retried. To retry the rest, run the command again.\n");
  return error;
}

/** Draws how many dead letters of the scope are left, until the signal. If they cannot be read, nothing is drawn. */
async function showWhatIsLeft(tidemill: Tidemill, { queue, isFiltered }: RetryScope, signal: AbortSignal): Promise<void> {
  const countFailed = async () =>
    (await (queue === undefined ? tidemill.status() : tidemill.queues.get(queue).then(toCounts))).jobs.failed ?? 0;
  const total = await countFailed().catch(() => null);
  // With a filter it is not known how many jobs match.
  const progress = showProgress(total === 0 || isFiltered ? null : total);
  while (!signal.aborted) {
    const left = await countFailed().catch(() => null);
    if (left !== null && total !== null) progress.update(total - left, `${showCount(Math.max(total - left, 0))} retried`);
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  progress.end();
}

const toCounts = ({ metrics }: { metrics: object }): { jobs: Record<string, number> } => ({ jobs: metrics as Record<string, number> });
