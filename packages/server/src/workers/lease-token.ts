import { timingSafeEqual } from "node:crypto";
import type { NamedClaim } from "#jobs";
import type { JobId } from "#kernel";
import type { LaneId } from "#lanes";

const TOKEN = /^([0-9a-z]{1,12})-([0-9a-z]{1,12})-([0-9a-z]{1,7})-([A-Za-z0-9_-]{22})$/;

/** What a token says: a claim, and the secret of its worker. */
export interface ReadToken extends Omit<NamedClaim, "id"> {
  readonly secret: string;
}

/** The token that proves a worker's claim on a job. */
export const leaseToken = ({ leaseId, laneId, attempt }: Omit<NamedClaim, "id">, secret: string): string =>
  `${leaseId.toString(36)}-${laneId.toString(36)}-${attempt.toString(36)}-${secret}`;

/** Reads a token. Null if the text is not a token. */
export function readLeaseToken(token: string): ReadToken | null {
  const [, leaseId = "", laneId = "", attempt = "", secret = ""] = TOKEN.exec(token) ?? [];
  const numbers = [leaseId, laneId, attempt].map((text) => Number.parseInt(text, 36));
  if (!numbers.every(Number.isSafeInteger) || (numbers[2] as number) > 0x7fff_ffff) return null;
  return { leaseId: numbers[0] as number, laneId: numbers[1] as LaneId, attempt: numbers[2] as number, secret };
}

export const isSameSecret = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

export const claimOf = (id: JobId, { leaseId, laneId, attempt }: ReadToken): NamedClaim => ({ id, leaseId, laneId, attempt });
