import type { ListedQueue } from "@tidemill/contract";
import type { Tone } from "../../ui/StateBadge.tsx";

/** How a queue is, in a few words. */
export interface Condition {
  readonly label: string;
  readonly tone: Tone;
}

type Known = Pick<ListedQueue, "paused" | "callback_url" | "callbacks_stopped" | "name" | "circuit" | "metrics">;

/** Whether jobs wait and nobody takes them. For `served` null, it is not known who takes jobs of workers. */
export const isUnserved = ({ callback_url, name, metrics }: Known, served: ReadonlySet<string> | null): boolean =>
  callback_url === null && served !== null && !served.has(name) && (metrics?.waiting ?? 0) > 0;

/**
 * The worst condition that applies to a queue.
 *
 * @param served the queues that workers ask for; null while it is not known
 */
export function conditionOf(queue: Known, served: ReadonlySet<string> | null): Condition {
  if (queue.circuit?.state === "open") return { label: "circuit open", tone: "bad" };
  if (queue.callbacks_stopped) return { label: "callbacks stopped", tone: "bad" };
  // Of a paused queue, nobody needs to take jobs.
  if (queue.paused) return { label: "paused", tone: "warn" };
  if (isUnserved(queue, served)) return { label: "nobody takes these jobs", tone: "bad" };
  if ((queue.metrics?.pending_approval ?? 0) > 0) return { label: "approvals pending", tone: "warn" };
  return { label: queue.callback_url === null ? "taken by workers" : "delivered by callback", tone: "good" };
}
