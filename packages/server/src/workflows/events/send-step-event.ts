import type { NamedClaim } from "#jobs";
import type { Transactional, UuidSource } from "#kernel";
import { lockExecution } from "../executions/execution-store.ts";
import { outputOfStored } from "../journals/output-of-stored.ts";
import { type RunKey, showRunId } from "../runs/run.ts";
import { completedStep } from "../steps/step-store.ts";
import { storeStep } from "../steps/store-step.ts";
import { type EventToSend, type StartedByEvent, sendEvent, showEventId } from "./send-event.ts";

/** The output of a step that sends an event, as JSON text, and the lanes in which runs wait. */
export interface StepEvent {
  readonly output: string;
  readonly lanes: StartedByEvent["lanes"];
}

/**
 * Sends the event of a step, and stores the step with it. So the event is sent once: if the journal has the step, nothing is sent, and its
 * output is returned.
 *
 * @returns null if the claim no longer holds: then nothing is sent
 * @throws QUOTA_EXCEEDED; CONFLICT for a key of a step of another type, or of one that failed; PAYLOAD_TOO_LARGE for a full journal
 */
export const sendStepEvent = (
  database: Transactional,
  ids: UuidSource,
  run: RunKey,
  claim: NamedClaim,
  key: string,
  event: Omit<EventToSend, "idempotency">,
): Promise<StepEvent | null> =>
  database.transaction(async (tx) => {
    if (!(await lockExecution(tx, run, claim))) return null;
    const stored = await outputOfStored(tx, run, key, "event");
    if (stored !== null) return { output: stored, lanes: [] };
    const { id, runIds, lanes } = await sendEvent(tx, ids, run.workspaceId, { ...event, idempotency: null });
    const output = JSON.stringify({ eventId: showEventId(id), runIds: runIds.map(showRunId) });
    await storeStep(tx, run, completedStep(key, "event", output));
    return { output, lanes };
  });
