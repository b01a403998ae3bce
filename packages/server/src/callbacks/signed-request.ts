import { CALLBACK_HEADERS, WEBHOOK_HEADERS } from "@tidemill/contract";
import type { Claim } from "#jobs";

interface Signed {
  /** The job's id as the API shows it. */
  readonly id: string;
  readonly attempt: number;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly signature: string;
  /** Of the service. */
  readonly version: string;
}

/** The headers that every callback has. */
export const signedHeaders = ({ id, attempt, timestamp, signature, version }: Signed): Record<string, string> => ({
  "Content-Type": "application/json",
  "User-Agent": `Tidemill/${version}`,
  [CALLBACK_HEADERS.jobId]: id,
  [CALLBACK_HEADERS.attempt]: String(attempt),
  [CALLBACK_HEADERS.timestamp]: String(timestamp),
  [CALLBACK_HEADERS.signature]: signature,
  [WEBHOOK_HEADERS.id]: id,
  [WEBHOOK_HEADERS.timestamp]: String(timestamp),
  [WEBHOOK_HEADERS.signature]: signature,
});

/** What a callback says of its job. */
type SentJob = Pick<Claim, "attempt" | "attempts" | "spared" | "tag" | "createdAt" | "schedule" | "scheduledFor">;

/** The callback's body. The payload is inserted as text, so that the handler receives it as it was enqueued. Source: contract §4. */
export const bodyOf = (job: SentJob, id: string, queue: string, payload: string): string =>
  `{"id":"${id}","queue":${JSON.stringify(queue)},"attempt":${job.attempt},"attempts":${job.attempts + job.spared},` +
  `"tag":${JSON.stringify(job.tag)},"created_at":"${job.createdAt}","schedule":${JSON.stringify(job.schedule)},` +
  `"scheduled_for":${JSON.stringify(job.scheduledFor)},"payload":${payload}}`;
