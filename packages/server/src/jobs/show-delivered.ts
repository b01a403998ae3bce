import type { JsonParts } from "#kernel";
import type { Claim } from "./claim.ts";

/** What a delivery says about its job. */
export type DeliveredJob = Pick<Claim, "attempt" | "attempts" | "spared" | "tag" | "createdAt" | "schedule" | "scheduledFor">;

/**
 * A job as a handler or a worker receives it. The payload is inserted as text, so that it arrives as it was enqueued. Source: contract §4.
 *
 * @param more members before the payload, each followed by a comma
 */
export const showDelivered = (job: DeliveredJob, id: string, queue: string, payload: string, more = ""): JsonParts => [
  `{"id":"${id}","queue":${JSON.stringify(queue)},"attempt":${job.attempt},"attempts":${job.attempts + job.spared},` +
    `"tag":${quoted(job.tag)},"created_at":"${job.createdAt}","schedule":${quoted(job.schedule)},` +
    `"scheduled_for":${quoted(job.scheduledFor)},${more}"payload":`,
  payload,
  "}",
];

/** JSON of a text or null. It is usually null, for which `JSON.stringify` is slower. */
const quoted = (text: string | null): string => (text === null ? "null" : JSON.stringify(text));
