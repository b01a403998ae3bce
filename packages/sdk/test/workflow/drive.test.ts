import { type WorkflowContext, workflow } from "@tidemill/sdk";
import { expect, test, vi } from "vitest";
import { drive } from "../../src/workflow/drive.ts";
import { Execution } from "../../src/workflow/execution.ts";
import { liveHost } from "../../src/workflow/host.ts";
import { startProgram } from "../../src/workflow/start-program.ts";

const never = (): Promise<never> => new Promise(() => {});

test("an execution rests while a step is stored and others have ended", async () => {
  const stored = Promise.withResolvers<readonly string[]>();
  const store = vi.fn(() => stored.promise);
  const { signal } = new AbortController();
  const host = liveHost({ store, sendEvent: never, registerSignal: never, invoke: never, signal });
  const execution = new Execution(host, []);
  const seen = vi.spyOn(execution.changes, "seen");
  const second = Promise.withResolvers<void>();
  const program = ({ step }: WorkflowContext<unknown>) =>
    Promise.all([step.run("first", () => 1), step.run("second", () => second.promise), step.run("third", never)]);
  startProgram(workflow({ id: "test" }, program), execution, { runId: "run_1", input: null } as never);
  const driven = drive(execution);
  await expect.poll(() => store.mock.calls.length).toBe(1);
  second.resolve();
  await expect.poll(() => execution.outbox.unsent.map(({ key }) => key)).toEqual(["second"]);
  const turns = async (count: number) => {
    for (let at = 0; at < count; at += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  await turns(10);
  const before = seen.mock.calls.length;
  await turns(100);
  expect(seen.mock.calls.length).toBe(before);
  stored.resolve([]);
  await expect.poll(() => store.mock.calls.length).toBe(2);
  execution.finish({ kind: "aborted" });
  await driven;
});
