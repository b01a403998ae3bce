/** Values of examples that several files show. */

export const AT = "2026-11-23T09:30:00.000Z";
export const EVENT_ID = "evt_01kajv3k4ve6nsd9z5kgtzx0rw";

export const STEP = {
  key: "load user",
  type: "run",
  status: "completed",
  output: { name: "Ada" },
  error: null,
  attempt: 1,
  startedAt: AT,
  endedAt: AT,
  wakeAt: null,
  signal: null,
  undoable: false,
};
