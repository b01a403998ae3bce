const HOUR_MS = 3_600_000;

/** The ranges of charts. */
export const RANGES = [
  { value: "1h", label: "1 hour", ms: HOUR_MS },
  { value: "6h", label: "6 hours", ms: 6 * HOUR_MS },
  { value: "24h", label: "24 hours", ms: 24 * HOUR_MS },
  { value: "7d", label: "7 days", ms: 167 * HOUR_MS },
  { value: "30d", label: "30 days", ms: 720 * HOUR_MS },
] as const;

export type Range = (typeof RANGES)[number];

/** The range in an address. Default: an hour. */
export const rangeOf = (value: string): Range => RANGES.find((one) => one.value === value) ?? RANGES[0];
