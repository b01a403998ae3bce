/**
 * A property of `globalThis` that is true while `tidemill workflow check` loads an app's modules and replays journals with them. It is a
 * registered symbol because the app may have a copy of the SDK, and of this package, that is not the command's.
 */
const WORKFLOW_CHECK = Symbol.for("tidemill.workflowCheck");

type Marked = typeof globalThis & { [WORKFLOW_CHECK]?: boolean };

/** Does something as a part of `tidemill workflow check`: meanwhile, the SDK starts no worker and registers no workflow. */
export async function asWorkflowCheck<Result>(work: () => Promise<Result>): Promise<Result> {
  const marked: Marked = globalThis;
  marked[WORKFLOW_CHECK] = true;
  try {
    return await work();
  } finally {
    delete marked[WORKFLOW_CHECK];
  }
}

/** Whether `tidemill workflow check` has loaded the code that is running. */
export const isWorkflowCheck = (): boolean => (globalThis as Marked)[WORKFLOW_CHECK] === true;
