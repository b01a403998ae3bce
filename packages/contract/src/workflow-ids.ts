import { type Static, Type } from "typebox";
import { NAME } from "./names.ts";

/** Source: contract §11. */
export const WorkflowId = Type.String({
  title: "WorkflowId",
  pattern: NAME,
  description: "Id of a workflow, unique in the workspace. Its author chooses it.",
  examples: ["user.onboard"],
});

export const WorkflowPath = Type.Object({ name: WorkflowId });
export type WorkflowPath = Static<typeof WorkflowPath>;

export const RunId = Type.String({
  title: "RunId",
  pattern: "^run_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Identifier of a run.",
  examples: ["run_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

export const RunPath = Type.Object({ id: RunId });
export type RunPath = Static<typeof RunPath>;

export const RUN_ID = "run_01kajv3k4ve6nsd9z5kgtzx0rw";

export const EventId = Type.String({
  title: "EventId",
  pattern: "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Identifier of an event.",
  examples: ["evt_01kajv3k4ve6nsd9z5kgtzx0rw"],
});
