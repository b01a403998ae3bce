import { LIMITS, TemplateError } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import { type Claim, showJobId } from "#jobs";
import { type LoopTime, ProblemError, type RunId, type SlicedWork } from "#kernel";
import type { TextRedactor } from "#redaction";
import {
  fillPayload,
  mayHoldTemplates,
  parsePayload,
  type SecretAccess,
  SecretError,
  type SecretUse,
  secretNamesIn,
  TemplateFiller,
} from "#vault";
import { showRunId } from "#workflows";

/** A payload that could not be filled waits this long. Milliseconds. */
const POSTPONE_MS = 2_000;

/** A job's payload, or a run's input, as its worker gets it, and the redactor that removes its secrets from what the worker reports. */
export interface FilledPayload {
  readonly payload: string;
  /** Null when the payload has no secrets. */
  readonly redactor: TextRedactor | null;
  /** The total length of all values. Characters. */
  readonly secretLength: number;
}

/**
 * Why a payload is filled in. `first`: for the first response that brings it. `repeat`: a repeated call takes it. `redaction`: a report on
 * it has reached a node that does not know its secrets.
 */
export type FillPurpose = "first" | "repeat" | "redaction";

export interface FillSecrets {
  readonly secrets: Pick<SecretAccess, "resolve">;
  readonly loopTime: LoopTime;
}

const NO_SECRETS = { values: new Map<string, string>(), redactor: null, former: [], missingBefore: "" };

/** Keeps nothing of a report that may contain secrets which are not known. */
export const KEEPS_NOTHING: TextRedactor = { text: nothing, json: nothing };

function* nothing(): SlicedWork<null> {
  yield;
  return null;
}

/** Fills the secrets into the payload of a job that a worker takes. Otherwise it returns how the attempt ends. */
export const fillSecrets = (
  deps: FillSecrets,
  claim: Claim,
  queue: string,
  worker: string,
  purpose: FillPurpose,
): Promise<FilledPayload | AttemptResult> =>
  fill(deps, claim, { field: "payload", text: claim.payload }, { queue, jobId: showJobId(claim.id) }, worker, purpose);

/** The same for the input of a run. */
export const fillInput = (
  deps: FillSecrets,
  claim: Claim,
  workflow: string,
  worker: string,
  input: string,
  purpose: FillPurpose,
): Promise<FilledPayload | AttemptResult> =>
  fill(
    deps,
    claim,
    { field: "input", text: input },
    { queue: null, workflow, jobId: showRunId(claim.id as string as RunId) },
    worker,
    purpose,
  );

/**
 * When a node searches a report for secrets, it looks for the current values and for the former ones, because it does not know which of
 * them another node sent to the worker. A repeated call must not return a value that the node of the first call does not know. So if a
 * secret has a former value, the claim is released and claimed again. The same happens if a former value that the claim may contain is no
 * longer stored.
 */
async function fill(
  { secrets, loopTime }: FillSecrets,
  { workspaceId, attempt, startedAt }: Claim,
  { field, text }: { readonly field: string; readonly text: string },
  user: Pick<SecretUse, "queue" | "workflow" | "jobId">,
  worker: string,
  purpose: FillPurpose,
): Promise<FilledPayload | AttemptResult> {
  if (!mayHoldTemplates(text)) return { payload: text, redactor: null, secretLength: 0 };
  const inSlices = <Result>(work: SlicedWork<Result>) => loopTime.run(workspaceId, text.length, work);
  try {
    const template = await inSlices(parsePayload(text, field));
    const names = secretNamesIn(template.strings);
    if (names.length > LIMITS.callbackSecrets) throw new TemplateError(`names more than ${LIMITS.callbackSecrets} secrets`);
    const use = { workspaceId, host: `worker ${worker}`, attempt, names, withFormer: true, onlySearch: purpose === "redaction", ...user };
    const { values, redactor, former, missingBefore } = names.length > 0 ? await secrets.resolve(use) : NO_SECRETS;
    if (purpose !== "first" && startedAt < missingBefore) return { kind: "withdrawn" };
    if (purpose === "repeat" && former.length > 0) return { kind: "withdrawn" };
    const filled = await inSlices(fillPayload(template, new TemplateFiller(values)));
    const secretLength = [...values.values(), ...former].reduce((sum, { length }) => sum + length, 0);
    return { payload: filled, redactor, secretLength };
  } catch (error) {
    if (error instanceof SecretError) return { kind: "unsendable", code: error.code, message: error.message };
    if (error instanceof TemplateError) return { kind: "unsendable", code: "TEMPLATE_INVALID", message: `The ${field} ${error.message}.` };
    if (error instanceof ProblemError) return { kind: "postponed", waitMs: POSTPONE_MS };
    throw error;
  }
}
