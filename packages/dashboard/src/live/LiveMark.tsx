import type { LiveState } from "./connection.ts";
import classes from "./LiveMark.module.css";
import { useLiveState } from "./live-state.ts";

const ABOUT: Readonly<Record<LiveState, string>> = {
  live: "Changes are shown as they happen.",
  polling: "The stream of changes cannot be opened. The page asks every few seconds.",
  offline: "The service cannot be reached. The page tries again.",
};

/** Shows how changes reach the page. */
export function LiveMark() {
  const state = useLiveState();
  return (
    <span aria-live="polite" className={classes.mark} data-state={state ?? undefined} title={state ? ABOUT[state] : undefined}>
      {state}
    </span>
  );
}
