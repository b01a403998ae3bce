import { LIMITS, type RunError } from "@tidemill/contract";
import { problem, type SlicedWork } from "#kernel";
import type { TextRedactor } from "#redaction";
import { refuseSecrets } from "./refuse-secrets.ts";
import type { StepToInsert } from "./step-store.ts";

const LEFT_OUT = "What the worker reported is left out: it cannot be searched for secrets.";

/**
 * Steps as they are stored: without secrets in their outputs and errors.
 *
 * @param redactor null when the input of the run has none
 * @throws PAYLOAD_TOO_LARGE for an output that cannot be searched for secrets; VALIDATION_ERROR for secrets elsewhere
 */
export function* redactSteps(steps: readonly StepToInsert[], redactor: TextRedactor | null): SlicedWork<readonly StepToInsert[]> {
  if (!redactor) return steps;
  const kept: StepToInsert[] = [];
  for (const [index, step] of steps.entries()) {
    const { key, signal, call, output, error } = step;
    const path = `steps[${index}]`;
    const names = { [`${path}.key`]: key, ...(signal !== null && { [`${path}.signal`]: signal }) };
    yield* refuseSecrets(names, call ? { [`${path}.http`]: call.request } : {}, redactor);
    kept.push({
      ...step,
      output: output && (yield* redactOutput(key, output, redactor)),
      error: error && JSON.stringify(yield* redactError(JSON.parse(error) as RunError, redactor)),
    });
  }
  return kept;
}

/** An error without secrets. */
export function* redactError({ name, message }: RunError, redactor: TextRedactor | null): SlicedWork<RunError> {
  if (!redactor) return { name, message };
  return { name: (yield* redactor.text(name)) ?? "Error", message: (yield* redactor.text(message)) ?? LEFT_OUT };
}

function* redactOutput(key: string, output: string, redactor: TextRedactor): SlicedWork<string> {
  const kept = yield* redactor.json(output, LIMITS.payloadBytes);
  if (kept !== null) return kept;
  const message = `The output of step "${key}" cannot be searched for the secrets of the run's input.`;
  throw problem("PAYLOAD_TOO_LARGE", { limit_bytes: LIMITS.payloadBytes }, { message });
}
