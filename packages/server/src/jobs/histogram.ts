/** Each bucket ends a quarter later than the one before. Bucket 0 ends at 1 ms (`latency_bucket` in migration 0023). */
const GROWTH = 1.25;

/** Adds a histogram to another one, which may be shorter. */
export function addTo(sum: number[], histogram: readonly number[]): void {
  for (const [bucket, jobs] of histogram.entries()) sum[bucket] = (sum[bucket] ?? 0) + jobs;
}

/**
 * The latency that a part of the jobs did not exceed, taken as evenly spread over its bucket. Milliseconds; null without jobs.
 *
 * @param part from 0 to 1
 */
export function quantileOf(histogram: readonly number[], part: number): number | null {
  const total = histogram.reduce((sum, jobs) => sum + jobs, 0);
  if (total === 0) return null;
  const rank = part * total;
  let before = 0;
  for (const [bucket, jobs] of histogram.entries()) {
    if (jobs > 0 && before + jobs >= rank) {
      const from = bucket === 0 ? 0 : GROWTH ** (bucket - 1);
      const ms = from + (GROWTH ** bucket - from) * Math.max(0, (rank - before) / jobs);
      return Math.round(ms * 10) / 10;
    }
    before += jobs;
  }
  return null;
}
