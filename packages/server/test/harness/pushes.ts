import type { PushedHook, PushedRun } from "@tidemill/contract";
import type { Answer, Handler, Received } from "./handler.ts";
import { type Service, until } from "./service.ts";
import { putWorkflow, type TestWorkflow } from "./workflows.ts";

/** An execution, as the program at an endpoint got it. */
export type Pushed = PushedRun | PushedHook;

/** A program responds with an outcome, or as a handler does. */
export type Outcome = Answer | { readonly outcome: string; readonly [field: string]: unknown };

export interface PushedWorkflow extends TestWorkflow {
  readonly program: Handler;
  /** What the program got, in order. */
  readonly executions: () => Pushed[];
  readonly untilStatus: (runId: string, status: string) => Promise<void>;
}

/** Registers a workflow that a program at an endpoint executes. */
export async function pushedWorkflow(
  service: Service,
  execute: (pushed: Pushed, received: Received) => Outcome | Promise<Outcome>,
  settings: object = {},
): Promise<PushedWorkflow> {
  const read = ({ raw }: Received) => JSON.parse(raw) as Pushed;
  const program = await service.handler({
    answers: async (received: Received) => {
      const outcome = await execute(read(received), received);
      return typeof outcome === "object" && "outcome" in outcome ? { status: 200, body: JSON.stringify(outcome) } : (outcome as Answer);
    },
  });
  const workflow = await putWorkflow(service, {
    endpoint_url: program.url,
    backoff: { type: "exponential", delay: 0 },
    endpoint_secret: SECRET,
    ...settings,
  });
  return {
    ...workflow,
    program,
    executions: () => program.received.map(read),
    untilStatus: (runId, status) => until(async () => (await workflow.get(runId)).status === status, `run ${runId} to be ${status}`),
  };
}

/** The signing secret of workflows of tests. */
export const SECRET = `cbs_${"s".repeat(43)}`;
