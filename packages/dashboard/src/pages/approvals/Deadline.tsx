import { toMs, useNow } from "../../time/clock.ts";
import { Time } from "../../ui/Time.tsx";
import classes from "./ApprovalsPage.module.css";

const SOON_MS = 3_600_000;

/** When a queue decides by itself. It stands out in the last hour. */
export function Deadline({ at }: { at: string }) {
  const now = useNow();
  return (
    <span className={toMs(at) - now < SOON_MS ? classes.soon : undefined}>
      <Time at={at} />
    </span>
  );
}
