import { toMs, useNow } from "../time/clock.ts";
import { formatDuration } from "../time/format.ts";

/** How long something took, or has taken until now. */
export function Duration({ from, to }: { from: string | null | undefined; to?: string | null | undefined }) {
  const now = useNow();
  if (!from) return <span>–</span>;
  return <span>{formatDuration(Math.max(0, (to ? toMs(to) : now) - toMs(from)))}</span>;
}
