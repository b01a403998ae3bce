import type { Webhook } from "@tidemill/contract";
import type { Tone } from "../../ui/StateBadge.tsx";

/** The state of a webhook in one word. */
export function stateOf({ disabled, stopped, failing_since }: Pick<Webhook, "disabled" | "stopped" | "failing_since">): {
  state: string;
  tone: Tone;
} {
  if (disabled)
    return disabled.reason === "failing" ? { state: "switched off: it failed", tone: "bad" } : { state: "switched off", tone: "rest" };
  if (stopped) return { state: "not on this plan", tone: "bad" };
  return failing_since === null ? { state: "on", tone: "good" } : { state: "failing", tone: "warn" };
}
