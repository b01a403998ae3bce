import { describe, expect } from "vitest";
import { EventReader } from "../harness/event-reader.ts";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";
import { newWorkspace, Service, startTestNode, until } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const test = testWith({ ...NEVER_POLL, TIDEMILL_DRAIN_SECONDS: "0" }).extend("read", async ({ service }, { onCleanup }) => {
  const readers: EventReader[] = [];
  onCleanup(() => {
    for (const reader of readers) reader.close();
  });
  return async (runId: string, lastEventId?: string, at: Pick<Service, "node" | "key"> = service) => {
    const reader = await EventReader.open(at, runId, lastEventId);
    readers.push(reader);
    return reader;
  };
});

const step = (key: string, output: unknown = 1) => ({ key, type: "run", status: "completed", output });
const nap = { key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 };

/** A run that a worker executes, and what reports its steps. */
async function taken(service: Service, { trigger, take }: TestWorkflow) {
  const runId = await trigger();
  const run = await take();
  const report = (body: object) => service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, ...body });
  return { runId, run, report };
}

describe("the events of a run", () => {
  test("begin with the whole run, and then are its changes until it has ended", async ({ service, read }) => {
    const workflow = await putWorkflow(service);
    const runId = await workflow.trigger({ input: { n: 1 } });
    const reader = await read(runId);
    await reader.untilNames("run");
    expect(reader.last?.data).toEqual(await workflow.get(runId));

    const run = await workflow.take();
    await reader.untilNames("running");
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps: [step("a")], progress: { done: 1 } });
    await reader.untilNames("step a", "progress");
    expect(reader.events.find(({ event }) => event === "step")?.data).toEqual((await workflow.get(runId)).steps[0]);
    expect(reader.events.find(({ event }) => event === "progress")?.data).toEqual({ progress: { done: 1 } });
    await workflow.end(run, { outcome: "completed", result: ["$& $$ 2"] });
    await reader.untilEnded();
    const { steps, input, waitingFor, hookErrors, undoErrors, progress, ...ended } = await workflow.get(runId);
    expect(reader.last).toMatchObject({ event: "status", data: ended });
    expect(reader.names).toEqual(["run", "running", "step a", "progress", "completed"]);
  });

  test("show a sleep that begins and ends, a failed attempt, and a retry", async ({ service, read }) => {
    const workflow = await putWorkflow(service, { attempts: 2 });
    const { runId, run } = await taken(service, workflow);
    const reader = await read(runId);
    await workflow.end(run, { outcome: "suspended", steps: [nap] });
    await reader.untilNames("sleeping", "step nap");
    await service.advance(61);
    const again = await workflow.take();
    await until(() => reader.events.some(({ event, data }) => event === "step" && data.status === "completed"), "the sleep to end");
    await workflow.end(again, { outcome: "failed", error: "bad" });
    await until(() => reader.last?.data.attempt === 2, "the failure");
    expect(reader.last?.data).toMatchObject({ status: "running", error: { message: "bad" }, nextAttemptAt: expect.any(String) });
    await service.advance(61);
    await workflow.end(await workflow.take(), { outcome: "failed", error: "worse" });
    await reader.untilEnded();
    expect(reader.last?.data).toMatchObject({ status: "failed", error: { message: "worse" } });

    await service.ok("POST", `/v1/runs/${runId}/retry`);
    const later = await read(runId, reader.last?.id);
    await later.untilNames("run");
    expect(later.last?.data).toMatchObject({ status: "running", steps: [{ key: "nap" }] });
  });

  test("show a wait that is cancelled, once, and a retry", async ({ service, read }) => {
    const workflow = await putWorkflow(service, { attempts: 1 });
    const { runId, run, report } = await taken(service, workflow);
    await report({ steps: [nap, step("a")] });
    const reader = await read(runId);
    await reader.untilNames("run");
    await report({ steps: [{ key: "nap", type: "sleep", status: "cancelled" }, step("b")] });
    await reader.untilNames("step nap", "step b");
    await report({ steps: [step("c")] });
    await reader.untilNames("step c");
    expect(reader.names).toEqual(["run", "step nap", "step b", "step c"]);
    expect(reader.events[1]?.data).toMatchObject({ key: "nap", status: "cancelled" });
    const whole = await read(runId);
    await whole.untilNames("run");
    expect(whole.last?.data).toEqual(await workflow.get(runId));
    await workflow.end(run, { outcome: "failed", error: "bad" });
    await reader.untilEnded();
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    const later = await read(runId, reader.last?.id);
    await later.untilNames("run");
    const again = await workflow.take();
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: again.lease_token, steps: [step("d")] });
    await later.untilNames("step d");
    expect(later.names.filter((name) => name.startsWith("step"))).toEqual(["step d"]);
  });

  test("go on after the last one that a reader has", async ({ service, read }) => {
    const workflow = await putWorkflow(service);
    const { runId, run, report } = await taken(service, workflow);
    const first = await read(runId);
    await first.untilNames("run");
    await report({ steps: [step("a")], progress: 1 });
    await first.untilNames("step a", "progress");
    first.close();
    await report({ steps: [step("b"), step("c")], progress: 2 });
    const second = await read(runId, first.last?.id);
    await second.untilNames("step c", "progress");
    expect(second.names).toEqual(["step b", "step c", "progress"]);
    const between = await read(runId, second.events[0]?.id);
    await between.untilNames("step c", "progress");
    expect(between.names).toEqual(["step c", "progress"]);
    await workflow.end(run, { outcome: "completed" });
    await second.untilEnded();
    expect(second.names.slice(3)).toEqual(["completed"]);
    expect((await read(runId, second.last?.id)).status).toBe(204);
    for (const other of ["nonsense", "0.99.aaaaaaaa.bbbbbbbb", "7.1.aaaaaaaa.bbbbbbbb"]) {
      const whole = await read(runId, other);
      await whole.untilEnded();
      expect(whole.names).toEqual(["run"]);
    }
  });

  test("come from other nodes, too", async ({ service, read }) => {
    const workflow = await putWorkflow(service);
    const { runId, report } = await taken(service, workflow);
    const other = await joinedBy(service, { ...NEVER_POLL, TIDEMILL_DRAIN_SECONDS: "0" });
    try {
      const reader = await read(runId, undefined, other);
      await reader.untilNames("run");
      await report({ steps: [step("a")] });
      await reader.untilNames("step a");
      await service.ok("POST", `/v1/runs/${runId}/cancel`);
      await reader.untilEnded();
      expect(reader.names).toEqual(["run", "step a", "cancelled"]);
    } finally {
      await other.node.stop();
    }
  });

  test("are the same for many readers", async ({ service, read }) => {
    const workflow = await putWorkflow(service);
    const { runId, report } = await taken(service, workflow);
    const readers = await Promise.all(Array.from({ length: 20 }, () => read(runId)));
    for (const reader of readers) await reader.untilNames("run");
    await report({ steps: [step("a")] });
    for (const reader of readers) await reader.untilNames("step a");
    expect(new Set(readers.map(({ names }) => names.join()))).toEqual(new Set(["run,step a"]));
  });

  test("of one that is not there are not found, and HEAD says so, too", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const runId = await workflow.trigger();
    const missing = "run_01kajv3k4ve6nsd9z5kgtzx0rw";
    expect(await service.api("GET", `/v1/runs/${missing}/events`)).toMatchObject({ status: 404, body: { error: { code: "NOT_FOUND" } } });
    expect((await service.api("HEAD", `/v1/runs/${missing}/events`)).status).toBe(404);
    const { status, headers } = await service.api("HEAD", `/v1/runs/${runId}/events`);
    expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  });

  test("of another workspace are not found, also while that workspace reads them", async ({ service, read, database, clock }) => {
    const stranger = new Service(service.node, database, clock, await newWorkspace(database));
    const { runId, report } = await taken(service, await putWorkflow(service));
    const reader = await read(runId);
    await reader.untilNames("run");
    expect((await stranger.api("GET", `/v1/runs/${runId}/events`)).status).toBe(404);
    await report({ steps: [step("a")] });
    await reader.untilNames("step a");
    expect((await stranger.api("GET", `/v1/runs/${runId}/events`)).status).toBe(404);
  });

  test("end when the run is removed, when a key is revoked, and when the node stops", async ({ service, read, database, clock }) => {
    const workflow = await putWorkflow(service);
    const { runId } = await taken(service, workflow);
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "reader", role: "read" });
    /** That keys were changed just before may end a stream, too. */
    const untilRead = async (at: Pick<Service, "node" | "key">): Promise<EventReader> => {
      let reader = await read(runId, undefined, at);
      await until(async () => {
        if (reader.ended) reader = await read(runId, undefined, at);
        return reader.names.includes("run");
      }, "the run");
      return reader;
    };
    const revoked = await untilRead({ node: service.node, key });
    await service.api("DELETE", `/v1/keys/${id}`);
    await revoked.untilEnded();
    expect((await read(runId, undefined, { node: service.node, key })).status).toBe(401);

    const removed = await untilRead(service);
    await database.query("delete from run where watched_until is not null and lane_id = (select max(lane_id) from run)");
    await removed.untilEnded();
    expect((await read(runId)).status).toBe(404);

    const other = await startTestNode(database, clock, NEVER_POLL);
    const stopped = await read((await taken(service, workflow)).runId, undefined, { node: other, key: service.key });
    await stopped.untilNames("run");
    await other.stop();
    await stopped.untilEnded();
    expect(stopped.ended).toBe("whole");
  });

  test("are refused to a workspace that has too many streams open", async ({ service, database, clock }) => {
    const node = await startTestNode(database, clock, { TIDEMILL_MAX_CONNECTIONS: "64", TIDEMILL_DRAIN_SECONDS: "0" });
    const readers: EventReader[] = [];
    try {
      const { runId } = await taken(service, await putWorkflow(service));
      const at = { node, key: service.key };
      readers.push(...(await Promise.all(Array.from({ length: 24 }, () => EventReader.open(at, runId)))));
      expect(readers.map(({ status }) => status)).toEqual(readers.map(() => 200));
      const refused = await fetch(`${node.url}/v1/runs/${runId}/events`, { headers: { authorization: `Bearer ${service.key}` } });
      expect(refused.status).toBe(503);
      expect(((await refused.json()) as { error: object }).error).toMatchObject({
        code: "UNAVAILABLE",
        message: "Your workspace's share of this node's capacity for streams of events is in use. Try again later.",
      });
      readers[0]?.close();
      await until(async () => {
        const reader = await EventReader.open(at, runId);
        readers.push(reader);
        return reader.status === 200;
      }, "a stream to be free");
    } finally {
      for (const reader of readers) reader.close();
      await node.stop();
    }
  });
});
