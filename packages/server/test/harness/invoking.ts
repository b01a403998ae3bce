import type { TakenRun } from "@tidemill/contract";
import type { Service } from "./service.ts";
import { putWorkflow, type TestWorkflow } from "./workflows.ts";

export const HOUR_MS = 3_600_000;

/** A run that has invoked another one in its step `bill`, for an hour. */
export interface Invoking {
  readonly parent: TestWorkflow;
  readonly child: TestWorkflow;
  readonly parentId: string;
  readonly childId: string;
}

export const invoke = (service: Service, { runId, lease_token }: TakenRun, workflow: string, more: object = {}) =>
  service.api("POST", `/v1/runs/${runId}/invocations`, { lease_token, key: "bill", workflow, input: { n: 1 }, timeout: HOUR_MS, ...more });

/** Starts a run that invokes another one, and waits for it. */
export async function invoking(service: Service): Promise<Invoking> {
  const [parent, child] = [await putWorkflow(service), await putWorkflow(service, { attempts: 1 })];
  const parentId = await parent.trigger();
  const run = await parent.take();
  const { body } = await invoke(service, run, child.id);
  await parent.end(run, { outcome: "suspended", steps: [] });
  return { parent, child, parentId, childId: body.runId };
}
