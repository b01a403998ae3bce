import { Type } from "typebox";
import type { ListedRun, Run } from "./runs.ts";
import type { RunStep } from "./steps.ts";

/** A stream of a run's events, as one text. */
export const RunEvents = Type.String({
  title: "RunEvents",
  contentMediaType: "text/event-stream",
  description: "Events: `run`, `step`, `progress` and `status`. The data of each is JSON.",
  examples: ['event: progress\nid: 0.2.hq8Yt0cz.pXn3ZC0w\ndata: {"progress":{"sent":120}}\n\n'],
});

export const WatchHeaders = Type.Object({
  "Last-Event-ID": Type.Optional(
    Type.String({
      title: "LastEventId",
      description: "Id of the last event that the reader has. Without it, the stream begins with the run.",
      examples: ["0.2.hq8Yt0cz.pXn3ZC0w"],
    }),
  ),
});

/** An event of a run, as `GET /v1/runs/:id/events` sends it. */
export type RunEvent =
  /** The whole run: the first event, and the one after a retry. */
  | { readonly type: "run"; readonly run: Run }
  /** A step that is new in the journal, or has its outcome now. */
  | { readonly type: "step"; readonly step: RunStep }
  | { readonly type: "progress"; readonly progress: unknown }
  /** What a list shows of the run, and its result. */
  | { readonly type: "status"; readonly status: ListedRun & Pick<Run, "result"> };
