import type { PutWorkflow } from "@tidemill/contract";
import { durationMs } from "./duration.ts";
import { hooksOf } from "./hooks.ts";
import { startSettings } from "./start.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** The settings of a workflow, as the service registers them. */
export function registrationOf({ options }: AnyWorkflow): PutWorkflow {
  const { attempts, backoff, concurrency, version, on } = options;
  const hooks = hooksOf(options);
  return {
    ...(attempts !== undefined && { attempts }),
    ...(backoff?.delay !== undefined && { backoff: { delay: durationMs("backoff.delay", backoff.delay) } }),
    ...(concurrency !== undefined && { concurrency }),
    ...(version !== undefined && { version }),
    ...startSettings(on),
    ...(hooks.length > 0 && { hooks }),
  };
}
