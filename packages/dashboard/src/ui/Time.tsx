import { nowMs, toMs, useNow } from "../time/clock.ts";
import { formatExact, formatRelative } from "../time/format.ts";
import { useZone } from "../time/zone.ts";
import classes from "./Time.module.css";

/** A moment: relative to now, and exact in the person's zone on hover. `exact` shows the exact time. */
export function Time({ at, exact = false, zone: given }: { at: string | null | undefined; exact?: boolean; zone?: string }) {
  const now = useNow();
  const { zone } = useZone();
  if (!at) return <span>–</span>;
  const ms = toMs(at);
  const relatively = formatRelative(ms, now, nowMs());
  const exactly = formatExact(ms, given ?? zone, { millis: exact });
  return (
    <time dateTime={at} title={exact ? relatively : exactly} className={exact ? undefined : classes.relative}>
      {exact ? exactly : relatively}
    </time>
  );
}
