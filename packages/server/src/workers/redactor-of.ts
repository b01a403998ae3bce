import type { Claim } from "#jobs";
import type { SlicedWork } from "#kernel";
import { type FillSecrets, fillSecrets } from "./fill-secrets.ts";
import type { ReportRedactor } from "./held-jobs.ts";

/** What takes the secrets of a job out of what its worker reports. Null when its payload has none. */
export type RedactorOf = (claim: Claim, queue: string, worker: string) => Promise<ReportRedactor | null>;

/** Keeps nothing of a report, when the secrets cannot be read that may be in it. */
const KEEPS_NOTHING: ReportRedactor = { text: nothing, json: nothing };

function* nothing(): SlicedWork<null> {
  yield;
  return null;
}

/** Reads the secrets of a job again, for a settle that reaches another node than the one that gave the job out. */
export const redactorOf =
  (fill: FillSecrets): RedactorOf =>
  async (claim, queue, worker) => {
    if (claim.payload === "") return null;
    const filled = await fillSecrets(fill, claim, queue, worker);
    return "payload" in filled ? filled.redactor : KEEPS_NOTHING;
  };
