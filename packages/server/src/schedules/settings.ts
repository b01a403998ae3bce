import { type CreateSchedule, LIMITS, type PatchSchedule } from "@tidemill/contract";
import type { RawJson } from "#http";
import { problem } from "#kernel";
import { checkPayloadTemplates } from "#vault";
import type { ScheduleSettings } from "./store.ts";

/**
 * A request's settings as they are stored, without those that need the database (the lane and the next run).
 *
 * @throws PAYLOAD_TOO_LARGE; VALIDATION_ERROR for an invalid template
 */
export function settingsOf(request: CreateSchedule | PatchSchedule): ScheduleSettings {
  const { cron, timezone, tag, priority, concurrencyKey, attempts, overlap, catch_up } = request;
  return { cron, timezone, payload: readPayload(request), tag, priority, concurrencyKey, attempts, overlap, catchUp: catch_up };
}

function readPayload({ payload }: CreateSchedule | PatchSchedule): string | undefined {
  if (payload === undefined) return undefined;
  const { text } = payload as RawJson;
  if (Buffer.byteLength(text) > LIMITS.payloadBytes) {
    throw problem("PAYLOAD_TOO_LARGE", { limit_bytes: LIMITS.payloadBytes, path: "payload" });
  }
  checkPayloadTemplates(text, "payload");
  return text;
}
