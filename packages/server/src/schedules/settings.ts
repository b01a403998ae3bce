import { type CreateSchedule, LIMITS, type PatchSchedule } from "@tidemill/contract";
import type { RawJson } from "#http";
import { type LoopTime, payloadTooLarge, type WorkspaceId } from "#kernel";
import { checkPayloadTemplates } from "#vault";
import type { ScheduleSettings } from "./store.ts";

/**
 * A request's settings as they are stored, without those that need the database (the lane and the next run).
 *
 * @throws PAYLOAD_TOO_LARGE; VALIDATION_ERROR for an invalid template
 */
export async function settingsOf(
  loopTime: LoopTime,
  workspaceId: WorkspaceId,
  request: CreateSchedule | PatchSchedule,
): Promise<ScheduleSettings> {
  const { cron, timezone, tag, priority, concurrencyKey, attempts, overlap, catch_up } = request;
  const raw = request.payload as RawJson | undefined;
  const payload = raw && (await readPayload(loopTime, workspaceId, raw));
  return { cron, timezone, payload, tag, priority, concurrencyKey, attempts, overlap, catchUp: catch_up };
}

async function readPayload(loopTime: LoopTime, workspaceId: WorkspaceId, { text }: RawJson): Promise<string> {
  if (Buffer.byteLength(text) > LIMITS.payloadBytes) {
    throw payloadTooLarge(LIMITS.payloadBytes, "payload");
  }
  await loopTime.run(workspaceId, text.length, checkPayloadTemplates(text, "payload"));
  return text;
}
