import { LIMITS, TemplateError } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import { type Claim, showJobId } from "#jobs";
import { type LoopTime, ProblemError, type SlicedWork } from "#kernel";
import { fillPayload, mayHoldTemplates, parsePayload, type SecretAccess, SecretError, secretNamesIn, TemplateFiller } from "#vault";
import type { ReportRedactor } from "./held-jobs.ts";

/** A payload that could not be filled waits this long. Milliseconds. */
const POSTPONE_MS = 2_000;

/** A job's payload as its worker gets it, and what takes its secrets out of what the worker reports. */
export interface FilledPayload {
  readonly payload: string;
  /** Null when the payload has no secrets. */
  readonly redactor: ReportRedactor | null;
  /** Of all values together. Characters. */
  readonly secretLength: number;
}

export interface FillSecrets {
  readonly secrets: Pick<SecretAccess, "resolve">;
  readonly loopTime: LoopTime;
}

const NO_SECRETS = { values: new Map<string, string>(), redactor: null, changedAt: null };

/** Keeps nothing of a report, when the secrets are not known that may be in it. */
export const KEEPS_NOTHING: ReportRedactor = { text: nothing, json: nothing };

function* nothing(): SlicedWork<null> {
  yield;
  return null;
}

/**
 * Fills the secrets into the payload of a job that a worker takes. Otherwise it returns how the attempt ends.
 *
 * All values that a claim gets, by any response and on any node, are those that its secrets had when it began: then each node that gave
 * the job out knows all of them. So a claim whose secrets have changed since is given back, and the job is claimed anew.
 */
export async function fillSecrets(
  { secrets, loopTime }: FillSecrets,
  claim: Claim,
  queue: string,
  worker: string,
): Promise<FilledPayload | AttemptResult> {
  const { payload, workspaceId, attempt } = claim;
  if (!mayHoldTemplates(payload)) return { payload, redactor: null, secretLength: 0 };
  const inSlices = <Result>(work: SlicedWork<Result>) => loopTime.run(workspaceId, payload.length, work);
  try {
    const template = await inSlices(parsePayload(payload));
    const names = secretNamesIn(template.strings);
    if (names.length > LIMITS.callbackSecrets) throw new TemplateError(`names more than ${LIMITS.callbackSecrets} secrets`);
    const use = { workspaceId, queue, host: `worker ${worker}`, jobId: showJobId(claim.id), attempt, names };
    const { values, redactor, changedAt } = names.length > 0 ? await secrets.resolve(use) : NO_SECRETS;
    if (changedAt !== null && changedAt > claim.startedAt) return { kind: "withdrawn" };
    const filled = await inSlices(fillPayload(template, new TemplateFiller(values)));
    const secretLength = [...values.values()].reduce((sum, { length }) => sum + length, 0);
    return { payload: filled, redactor, secretLength };
  } catch (error) {
    if (error instanceof SecretError) return { kind: "unsendable", code: error.code, message: error.message };
    if (error instanceof TemplateError) return { kind: "unsendable", code: "TEMPLATE_INVALID", message: `The payload ${error.message}.` };
    if (error instanceof ProblemError) return { kind: "postponed", waitMs: POSTPONE_MS };
    throw error;
  }
}
