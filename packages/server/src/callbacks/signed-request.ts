import { CALLBACK_HEADERS, WEBHOOK_HEADERS } from "@tidemill/contract";

interface Signed {
  /** The job's id as the API shows it. */
  readonly id: string;
  readonly attempt: number;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly signature: string;
  /** The version of the service. */
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
