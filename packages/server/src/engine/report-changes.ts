import type { RecordKind } from "@tidemill/contract";
import type { ReportChange } from "#kernel";
import type { LaneKey, PulledWaker, Waker } from "#lanes";

const OF_QUEUES: readonly RecordKind[] = ["jobs", "queues"];
const OF_WORKFLOWS: readonly RecordKind[] = ["runs"];
const OF_WEBHOOKS: readonly RecordKind[] = ["webhooks"];
const OF_ANY: readonly RecordKind[] = ["jobs", "queues", "runs", "webhooks"];

export const CIRCUITS: readonly RecordKind[] = ["circuits", "queues"];

/** The kinds of records in which a job of this kind shows. */
export const recordsOf = (kind: string): readonly RecordKind[] => {
  if (kind === "queue") return OF_QUEUES;
  return kind === "webhook" ? OF_WEBHOOKS : OF_WORKFLOWS;
};

/** A waker for code that moves jobs of many lanes at once: it reports that these have changed. */
export const reportingWaker = (waker: Waker & PulledWaker, report: ReportChange): Waker & PulledWaker => {
  const reportAll = (lanes: readonly LaneKey[]) => {
    for (const { workspaceId } of lanes) report(workspaceId, OF_ANY);
    return lanes;
  };
  return {
    wake: (lanes, within) => waker.wake(reportAll([...lanes]), within),
    wakeAt: (ms) => waker.wakeAt(ms),
    wakePulled: (lanes) => waker.wakePulled(reportAll(lanes)),
    wakeWorkflows: (lanes) => waker.wakeWorkflows(reportAll(lanes)),
  };
};
