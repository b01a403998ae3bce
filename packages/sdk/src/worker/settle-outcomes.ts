import type * as contract from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { isRefused } from "./calls.ts";
import type { Logger } from "./logger.ts";
import { kindOf, type WorkOutcome, withoutContent } from "./outcomes.ts";

/** What reporting outcomes needs of the worker. */
export interface Reporter {
  readonly name: string;
  readonly logger: Logger;
  /** Reports outcomes in one call. */
  readonly send: (outcomes: readonly WorkOutcome[]) => Promise<readonly contract.Settled[]>;
  /** Reports this one in the next call. */
  readonly again: (outcome: WorkOutcome) => void;
  /** Reports this one after a pause. */
  readonly later: (outcome: WorkOutcome) => void;
}

/**
 * Reports outcomes. If the service refuses the call, they are reported in halves, until the outcome at fault is found: it must not keep the
 * others from being stored.
 */
export async function settleOutcomes(reporter: Reporter, outcomes: readonly WorkOutcome[]): Promise<void> {
  try {
    const settled = await reporter.send(outcomes);
    for (const [index, one] of settled.entries()) check(reporter, one, outcomes[index]);
  } catch (error) {
    if (!(error instanceof TidemillError) || !isRefused(error, outcomes)) throw error;
    const [first] = outcomes;
    if (outcomes.length === 1 && first) {
      reportWithout(reporter, first, error);
      return;
    }
    const half = Math.ceil(outcomes.length / 2);
    await settleOutcomes(reporter, outcomes.slice(0, half));
    await settleOutcomes(reporter, outcomes.slice(half));
  }
}

function check(reporter: Reporter, { id, ok, code, message }: contract.Settled, outcome: WorkOutcome | undefined): void {
  if (ok) return;
  const kind = kindOf({ id });
  if (code === "UNAVAILABLE" && outcome) reporter.later(outcome);
  else if (code !== "LEASE_LOST" && outcome) reportWithout(reporter, outcome, { code, message });
  else reporter.logger.warn(`The outcome of a ${kind} came too late.`, { worker: reporter.name, [kind]: id });
}

/**
 * Reports a refused outcome again, without what the handler or workflow wrote into it: the fact that the job or run has ended must not be
 * lost.
 */
function reportWithout(
  { name, logger, again }: Reporter,
  refused: WorkOutcome,
  { code, message }: { readonly code: string | null; readonly message: string | null },
): void {
  const kind = kindOf(refused.lease);
  logger.error(`The outcome of a ${kind} was refused.`, { worker: name, [kind]: refused.lease.id, code, message });
  const rest = withoutContent(refused, message);
  if (rest) again(rest);
}
