import { momentMs, type Timestamp, toMoment } from "#kernel";

/** How long the former values of a secret are kept: twice the maximum duration of a lease that is not extended. Hours. */
export const FORMER_HOURS = 24;
/** A secret that is rotated every minute is known for a quarter of an hour. */
const MAX_VALUES = 16;
/** The maximum length of values beyond the newest. A value has 64 KiB at most. Characters. */
const MAX_LENGTH = 256 * 1024;

/** A value that a secret had, and when it was replaced. */
export interface FormerValue {
  readonly value: string;
  readonly replacedAt: Timestamp;
}

/** What is known about the values that a secret had before. */
export interface Former {
  /** Newest first. */
  readonly values: readonly FormerValue[];
  /** Values that were replaced at this time or earlier may be missing. Null: none is missing. */
  readonly since: Timestamp | null;
}

/** The former values after the secret got another value. Bounded in number, length and age. */
export function replaced({ values, since }: Former, value: string, now: Timestamp): Former {
  const oldestMs = momentMs(now) - FORMER_HOURS * 3_600_000;
  const all = [{ value, replacedAt: now }, ...values];
  let length = 0;
  const end = all.findIndex((one, at) => {
    length += one.value.length;
    return at > 0 && (at === MAX_VALUES || length > MAX_LENGTH || momentMs(one.replacedAt) <= oldestMs);
  });
  const kept = end === -1 ? all : all.slice(0, end);
  const [dropped] = all.slice(kept.length);
  return { values: kept, since: dropped?.replacedAt ?? since };
}

/** When the values are to be removed: all together with the newest. */
export const untilOf = ({ values: [newest] }: Former): Timestamp | null =>
  newest ? toMoment(momentMs(newest.replacedAt) + FORMER_HOURS * 3_600_000) : null;
