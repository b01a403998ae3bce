import type { Tidemill } from "@tidemill/sdk";
import { event } from "@tidemill/sdk";
import { expect } from "vitest";
import { test } from "./harness/client.ts";
import { failureOf } from "./harness/failure.ts";

const CALLS: Readonly<Record<string, (tidemill: Tidemill) => Promise<unknown>>> = {
  "enqueue a job": (tidemill) => tidemill.queue("q").enqueue({}),
  "enqueue jobs": (tidemill) => tidemill.queue("q").enqueueMany([{ payload: 1 }, { payload: 2 }]),
  "trigger a workflow": (tidemill) => tidemill.workflows.trigger("w"),
  "trigger it with options": (tidemill) => tidemill.workflows.trigger("w", {}, { timeoutMs: 5_000 }),
  "trigger it often": (tidemill) => tidemill.workflows.triggerMany("w", { triggers: [{}] }),
  "send an event": (tidemill) => tidemill.events.send(event("e"), 1),
  "complete a signal": (tidemill) => tidemill.signals.complete("s"),
  "cancel a run": (tidemill) => tidemill.runs.cancel("run_1"),
  "retry a run": (tidemill) => tidemill.runs.retry("run_1"),
  "put a workflow": (tidemill) => tidemill.workflows.put("w"),
  "create a queue": (tidemill) => tidemill.queues.create({ name: "q" }),
};

const FIELDLESS = [
  { status: 200, body: "" },
  { status: 200, body: "null" },
  { status: 200, body: "[]" },
  { status: 200, body: '"ok"' },
  { status: 204 },
];

test.for(Object.entries(CALLS))(
  "a call fails to which a proxy responds that all is well: %s",
  async ([, call], { clients: { proxy, tidemill } }) => {
    for (const fault of FIELDLESS) {
      proxy.faultOf = () => fault;
      expect(await failureOf(call(tidemill))).toMatchObject({ name: "TidemillError", code: "UNEXPECTED_RESPONSE", status: fault.status });
    }
  },
);

test.for(Object.entries(CALLS).filter(([what]) => what !== "create a queue"))(
  "a call fails whose response is one to another call, and says which field it misses: %s",
  async ([, call], { clients: { proxy, tidemill } }) => {
    for (const body of ["{}", '{"name":"other"}']) {
      proxy.faultOf = () => ({ status: 200, body });
      expect((await failureOf(call(tidemill))).message).toMatch(
        /^The response did not come from Tidemill: its field \w+ is missing or wrong/,
      );
    }
  },
);

test("an error in the words of another service is not taken for one of Tidemill", async ({ clients: { proxy, tidemill } }) => {
  const body = '{"error":{"code":"ResourceNotFound","message":"The resource was not found."}}';
  proxy.faultOf = () => ({ status: 404, body });
  expect(await failureOf(tidemill.runs.get("run_1"))).toMatchObject({ code: "UNEXPECTED_RESPONSE", status: 404 });
});

test("what is deleted has no response, and a proxy may not say so in other words", async ({ service, clients: { proxy, tidemill } }) => {
  const name = await service.queue();
  for (const body of ["", "{}"]) {
    proxy.faultOf = () => ({ status: 200, body });
    expect(await failureOf(tidemill.queues.delete(name))).toMatchObject({ code: "UNEXPECTED_RESPONSE" });
  }
  proxy.faultOf = () => null;
  expect(await tidemill.queues.delete(name)).toBeUndefined();
});

test("fewer jobs than were enqueued are no success", async ({ clients: { proxy, tidemill } }) => {
  proxy.faultOf = () => ({ status: 200, body: '{"jobs":[]}' });
  expect(await failureOf(tidemill.queue("q").enqueue({}))).toMatchObject({ code: "UNEXPECTED_RESPONSE" });
});

test("jobs are completed, failed, cancelled and removed by calls whose responses have no body, or have one", async ({
  service,
  clients: { tidemill },
}) => {
  const name = await service.queue();
  const queue = tidemill.queue(name);
  for (let n = 0; n < 3; n += 1) await queue.enqueue({ n });
  const { jobs } = await tidemill.workers.work({ worker: "w", queues: [name], limit: 2 });
  const [first, second] = jobs.map(({ id, lease_token }) => ({ queue: name, id, lease_token }));
  expect(await tidemill.workers.complete(first as never, 1)).toBeUndefined();
  expect(await tidemill.workers.fail(second as never, { error: "no", retry: false })).toBeUndefined();
  expect(await queue.jobs.cancelOrRemove(first?.id ?? "")).toBeNull();
  const [left] = (await queue.jobs.list({ state: "waiting" })).data;
  expect(await queue.jobs.cancelOrRemove(left?.id ?? "")).toMatchObject({ id: left?.id, state: "cancelled" });
});
