import { type Db, toMoment } from "#kernel";
import { announceAll, type EventToStore } from "#outbox";
import type { ScheduleWrites } from "./prepare-writes.ts";

/** Stores events for webhooks about ticks that are skipped, in the transaction that skips them. */
export const announceSkips = (tx: Db, writes: readonly ScheduleWrites[]): Promise<void> => announceAll(tx, writes.flatMap(eventsOf));

/**
 * One event for the ticks that this firing skips. Those that the quota refuses are announced as they are audited: the first one
 * immediately, later ones together.
 */
function eventsOf({ schedule, plan, event }: ScheduleWrites): EventToStore[] {
  const ofWorkflow = schedule.lane_kind === "workflow";
  const common = {
    schedule: ofWorkflow ? null : schedule.name,
    queue: ofWorkflow ? null : schedule.queue,
    workflow: ofWorkflow ? schedule.queue : null,
  };
  const eventOf = (data: object): EventToStore => ({
    workspaceId: schedule.workspace_id,
    type: "schedule.skipped",
    data: { ...common, ...data },
  });
  return [
    ...(plan.skip ? [eventOf({ reason: plan.skip.reason, last: toMoment(plan.skip.atMs), ticks: null })] : []),
    ...(event ? [eventOf(quotaSkipOf(event.output))] : []),
  ];
}

function quotaSkipOf(output: object | null) {
  const { reason, ticks, last } = output as { reason: string; ticks: number; last: string };
  return { reason, last, ticks };
}
