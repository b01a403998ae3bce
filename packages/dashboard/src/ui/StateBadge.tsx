import classes from "./StateBadge.module.css";

/** What a state means for the person: all is well, something failed, it waits for somebody, it is under way, it is idle. */
export type Tone = "good" | "bad" | "warn" | "info" | "rest";

const TONES: Readonly<Record<string, Tone>> = {
  // Jobs.
  waiting: "rest",
  delayed: "rest",
  pending_approval: "warn",
  active: "info",
  completed: "good",
  failed: "bad",
  cancelled: "rest",
  rejected: "rest",
  // Runs and their steps.
  pending: "rest",
  running: "info",
  sleeping: "rest",
  // Schedules, queues, circuits, webhooks.
  paused: "warn",
  closed: "good",
  open: "bad",
  half_open: "warn",
  ok: "good",
  degraded: "bad",
  disabled: "bad",
  succeeded: "good",
  approved: "good",
  expired: "rest",
  revoked: "rest",
};

/** A state as a word with a mark. The mark differs in shape, not only in color. */
export function StateBadge({ state, tone, label }: { state: string; tone?: Tone; label?: string }) {
  return (
    <span className={classes.badge} data-tone={tone ?? TONES[state] ?? "rest"}>
      {label ?? state.replaceAll("_", " ")}
    </span>
  );
}
