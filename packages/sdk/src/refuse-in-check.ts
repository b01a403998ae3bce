import { isWorkflowCheck } from "@tidemill/contract/workflow-check";

/**
 * @param what what is refused, such as "no worker starts"
 * @throws in code that `tidemill workflow check` has loaded
 */
export function refuseInCheck(what: string): void {
  if (!isWorkflowCheck()) return;
  throw new Error(
    `tidemill workflow check only loads this module, so ${what}. Do this in another module, or behind if (import.meta.main).`,
  );
}
