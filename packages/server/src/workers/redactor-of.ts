import type { Claim } from "#jobs";
import { type FillSecrets, fillSecrets, KEEPS_NOTHING } from "./fill-secrets.ts";
import type { ReportRedactor } from "./held-jobs.ts";

/** What takes the secrets of a job out of what its worker reports. Null when its payload has none. */
export type RedactorOf = (claim: Claim, queue: string, worker: string) => Promise<ReportRedactor | null>;

/** Reads the secrets of a job again, for a settle that reaches another node than the one that gave the job out. */
export const redactorOf =
  (fill: FillSecrets): RedactorOf =>
  async (claim, queue, worker) => {
    if (claim.payload === "") return null;
    const filled = await fillSecrets(fill, claim, queue, worker);
    return "payload" in filled ? filled.redactor : KEEPS_NOTHING;
  };
