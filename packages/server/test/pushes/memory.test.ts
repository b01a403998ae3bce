import { expect } from "vitest";
import { testWith } from "../harness/nodes.ts";
import { type PushedWorkflow, pushedWorkflow } from "../harness/pushes.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";
import { shareFigure } from "../harness/shares.ts";

/** Payloads have 23 MiB of it, and one workspace three quarters of that. */
const test = testWith({ TIDEMILL_MEMORY_MB: "384" });
const INPUT = "x".repeat(1_000_000);
const RUNS = 40;
/** How many inputs fit in the share of a workspace, and one that begins in what is left. */
const MOST = 19;

const figure = (service: Service, name: "capacity" | "held") => shareFigure(service, "payload_memory", name);

/** A program that responds when a test says so. */
async function hangingWorkflow(service: Service): Promise<PushedWorkflow & { readonly respond: () => void }> {
  const { promise: asked, resolve: respond } = Promise.withResolvers<void>();
  const workflow = await pushedWorkflow(service, async () => {
    await asked;
    return { outcome: "completed", result: 1 };
  });
  return { ...workflow, respond };
}

test("inputs of runs at endpoints count as memory of payloads: runs without room wait, and other workspaces have theirs", async ({
  service,
  node,
  database,
  clock,
  onTestFinished,
}) => {
  const { trigger, program, respond, untilStatus, get } = await hangingWorkflow(service);
  const runIds: string[] = [];
  for (let at = 0; at < RUNS; at += 1) runIds.push(await trigger({ input: INPUT }));
  await until(async () => (await figure(service, "held")) > 0.74 * (await figure(service, "capacity")), "the share to be used up");
  await until(() => program.received.length >= MOST - 1, "the program to have what fits");
  expect(await figure(service, "held")).toBeLessThan(MOST * 1.01 * INPUT.length);

  const other = new Service(node, database, clock, await newWorkspace(database));
  onTestFinished(() => other.close());
  const others = await pushedWorkflow(other, () => ({ outcome: "completed", result: 2 }));
  const runId = await others.trigger({ input: INPUT });
  await others.untilStatus(runId, "completed");
  expect(program.received.length).toBeLessThanOrEqual(MOST);

  respond();
  for (const id of runIds) await untilStatus(id, "completed");
  expect(await Promise.all(runIds.map(async (id) => (await get(id)).attempt))).toEqual(Array(RUNS).fill(1));
  await until(async () => (await figure(service, "held")) === 0, "all of it to be released");
});
