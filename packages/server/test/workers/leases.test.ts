import net from "node:net";
import { describe, expect } from "vitest";
import { ask } from "../harness/ask.ts";
import { newWorkspace, type Service, test, until } from "../harness/service.ts";
import { shareFigure } from "../harness/shares.ts";
import { proofOf, settle, type Taken, take, takeOne, work } from "../harness/workers.ts";

const LOST = { ok: false, code: "LEASE_LOST" };

/** How long a payload is for its worker. Characters. */
const LARGE = 2 * 64 * 1024;
/** How many of them one call brings. */
const A_CALL = 32;

/** Secrets make the payloads large. */
async function enqueueLarge(service: Service, queue: string, count: number): Promise<string[]> {
  await service.ok("POST", "/v1/secrets", { name: "LARGE", value: "x".repeat(LARGE / 2) });
  const jobs = Array.from({ length: count }, () => ({ payload: "${{ secrets.LARGE }}".repeat(2), attempts: 1 }));
  // The node learns how small the payloads are.
  await service.enqueue({ queue, ...jobs[0], priority: 1 });
  await take(service, queue);
  return (await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, { jobs })).jobs.map(({ id }: { id: string }) => id);
}

/** Asks for jobs three times, and reads no response. All three are more than the buffers of a connection hold. */
function workUnread(service: Service, request: object): net.Socket {
  const { hostname, port } = new URL(service.node.url);
  const body = JSON.stringify(request);
  const socket = net.connect(Number(port), hostname);
  socket.pause();
  const call =
    `POST /v1/work HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  socket.write(call.repeat(3));
  return socket;
}

describe("a lease", () => {
  test("a lease that runs out uses an attempt, and what the worker says later is refused", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, attempts: 2, backoff: { delay: 0 } });
    const job = await takeOne(service, queue, { lease: 10 });
    await service.advance(11);
    await service.untilState({ queue, id }, "delayed");
    expect((await service.job({ queue, id })).last_error).toMatchObject({ code: "LEASE_EXPIRED" });
    expect(await settle(service, job, { outcome: "completed" })).toMatchObject(LOST);
    await service.advance(60);
    expect(await takeOne(service, queue, { wait: 20 })).toMatchObject({ id, attempt: 2 });
    expect(await settle(service, job, { outcome: "completed" })).toMatchObject(LOST);
    expect(await service.job({ queue, id })).toMatchObject({ state: "active" });
  });

  test("a lease is shortened by who says how long, and by nobody else", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const job = await takeOne(service, queue, { lease: 600 });
    const at = `/v1/queues/${queue}/jobs/${job.id}/heartbeat`;
    const endsAfter = (extended: { leases: { lease_expires_at: string }[] }) =>
      Date.parse(extended.leases[0]?.lease_expires_at ?? "") - Date.parse(job.lease_expires_at);
    const { lease_token } = job;
    expect(endsAfter(await service.ok("POST", at, { lease_token }))).toBe(0);
    expect(endsAfter(await service.ok("POST", "/v1/work/extend", { worker: "w1", leases: [proofOf(job)] }))).toBe(0);
    expect(endsAfter(await service.ok("POST", at, { lease_token, lease: 10 }))).toBe(-590_000);
    expect(endsAfter(await service.ok("POST", at, { lease_token }))).toBe(-570_000);
  });

  test("a lease that is extended lasts longer", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const job = await takeOne(service, queue, { lease: 10 });
    await service.advance(9);
    const extended = await service.ok("POST", "/v1/work/extend", { worker: "w1", leases: [proofOf(job)], lease: 10 });
    expect(extended).toMatchObject({ leases: [{ id: job.id, ok: true }], cancelled: [] });
    expect(Date.parse(extended.leases[0].lease_expires_at)).toBe(Date.parse(job.lease_expires_at) + 9_000);
    await service.advance(9);
    expect(await settle(service, job, { outcome: "completed" })).toMatchObject({ ok: true });
  });

  test("a second outcome of a job is refused", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    expect(await settle(service, job, { outcome: "completed", result: 1 })).toMatchObject({ ok: true });
    expect(await settle(service, job, { outcome: "failed" })).toMatchObject(LOST);
    expect(await service.job({ queue, id: job.id })).toMatchObject({ state: "completed", result: 1 });
  });

  test("two outcomes of a job at once: one of them counts", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const settled = await Promise.all([
      settle(service, job, { outcome: "completed" }),
      settle(service, job, { outcome: "failed", retry: false }),
    ]);
    expect(settled.filter(({ ok }) => ok)).toHaveLength(1);
  });

  test("several outcomes of a job in one call: the first one counts, and the others are refused", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const outcomes = [
      { ...proofOf(job), outcome: "completed", result: 1 },
      { ...proofOf(job), outcome: "failed", retry: false },
      { ...proofOf(job), outcome: "completed", result: 2 },
    ];
    expect((await work(service, { settle: outcomes })).settled).toMatchObject([{ ok: true }, LOST, LOST]);
    expect(await service.job({ queue, id: job.id })).toMatchObject({ state: "completed", result: 1 });
  });

  test("a token says whose job it is: no other one settles it", async ({ service, database }) => {
    const queue = await service.queue();
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const other = await takeOne(service, queue, { worker: "w2" });
    const [lease = "", lane, attempt] = job.lease_token.split("-");
    const forged = [
      { ...job, lease_token: other.lease_token },
      { ...job, id: other.id },
      { ...job, lease_token: [lease, lane, attempt, "A".repeat(22)].join("-") },
      { ...job, lease_token: [lease, lane, "2", job.lease_token.split("-").slice(3).join("-")].join("-") },
      { ...job, lease_token: "nonsense" },
    ];
    for (const one of forged) expect(await settle(service, one, { outcome: "completed" })).toMatchObject(LOST);
    const stranger = await newWorkspace(database);
    const asked = { worker: "w1", queues: [], settle: [{ ...proofOf(job), outcome: "completed" }] };
    const reply = await ask(service.node.url, stranger.key, "POST", "/v1/work", asked);
    expect(reply.body.settled).toMatchObject([LOST]);
    expect(await service.job({ queue, id: job.id })).toMatchObject({ state: "active" });
  });

  test("a call that is repeated brings the same jobs, as long as their leases hold", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 0; n < 3; n += 1) await service.enqueue({ queue, payload: n });
    const first = await take(service, queue, { limit: 2, request: "r1" });
    expect(first).toHaveLength(2);
    expect(await take(service, queue, { limit: 2, request: "r1" })).toEqual(first);
    expect(await take(service, queue, { limit: 2, request: "r2" })).toMatchObject([{ payload: 2 }]);
    for (const job of first) await settle(service, job, { outcome: "completed" });
    expect(await take(service, queue, { limit: 2, request: "r1" })).toEqual([]);
  });

  test("a call that says it is no repeat brings other jobs, whatever its name", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue, payload: n });
    expect(await take(service, queue, { request: "r1", repeat: false })).toMatchObject([{ payload: 0 }]);
    expect(await take(service, queue, { request: "r1", repeat: false })).toMatchObject([{ payload: 1 }]);
  });

  test("a call that is repeated is told that its outcomes are stored, and changes nothing more", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 0; n < 3; n += 1) await service.enqueue({ queue, attempts: 2 });
    const [done, failed, released] = await take(service, queue, { limit: 3 });
    const call = {
      request: "r1",
      settle: [
        { ...proofOf(done as Taken), outcome: "completed", result: 1 },
        { ...proofOf(failed as Taken), outcome: "failed", error: "bad" },
        { ...proofOf(released as Taken), outcome: "released" },
      ],
    };
    const { settled } = await work(service, call);
    expect(settled.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect((await work(service, call)).settled).toEqual(settled);
    expect(await service.job({ queue, id: done?.id as string })).toMatchObject({ state: "completed", result: 1 });
    expect((await service.job({ queue, id: failed?.id as string })).attempts_log).toHaveLength(1);
    expect((await service.job({ queue, id: released?.id as string })).attempts_log).toHaveLength(1);
  });

  test("a call with a name is still refused an outcome that the job did not have by its claim", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 0; n < 4; n += 1) await service.enqueue({ queue, attempts: 2 });
    const [done, expired, cancelled] = await take(service, queue, { limit: 3, lease: 10 });
    const other = await takeOne(service, queue, { worker: "w2" });
    await settle(service, done as Taken, { outcome: "completed" });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${cancelled?.id}`);
    await service.advance(11);
    await service.untilState({ queue, id: expired?.id as string }, "delayed");
    const outcomes = [
      { ...proofOf(done as Taken), outcome: "failed" },
      { ...proofOf(expired as Taken), outcome: "failed" },
      { ...proofOf(expired as Taken), outcome: "completed" },
      { ...proofOf(cancelled as Taken), outcome: "completed" },
      { ...proofOf(done as Taken), lease_token: other.lease_token, outcome: "completed" },
    ];
    expect((await work(service, { request: "r1", settle: outcomes })).settled).toMatchObject(outcomes.map(() => LOST));
  });

  test("jobs of a response that the worker does not take are released without an attempt", async ({ service }) => {
    const queue = await service.queue();
    const ids = await enqueueLarge(service, queue, 100);
    const socket = workUnread(service, { worker: "w1", queues: [queue], limit: A_CALL });
    const ofThirdCall = ids.slice(2 * A_CALL);
    await service.untilState({ queue, id: ofThirdCall[0] as string }, "active");
    socket.destroy();
    const taken = new Set<string>();
    await until(async () => {
      for (const { id } of await take(service, queue, { limit: 100, worker: "w2" })) taken.add(id);
      return ofThirdCall.every((id) => taken.has(id));
    }, "the jobs to be taken by another worker");
  });
});

describe("a deleted queue", () => {
  test("its jobs are cancelled for the workers that hold them, which can neither extend nor settle them", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    await service.api("DELETE", `/v1/queues/${queue}`);
    expect(await work(service)).toMatchObject({ cancelled: [job.id] });
    const extended = await service.ok("POST", "/v1/work/extend", { worker: "w1", leases: [proofOf(job)] });
    expect(extended.leases).toEqual([{ id: job.id, ok: false, lease_expires_at: null }]);
    expect(await settle(service, job, { outcome: "completed" })).toMatchObject(LOST);
  });

  test("does not keep the outcomes of a call from being stored that still asks for its jobs", async ({ service }) => {
    const [queue, deleted] = [await service.queue(), await service.queue()];
    await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    await service.api("DELETE", `/v1/queues/${deleted}`);
    const queues = [queue, deleted];
    expect(await work(service, { queues, settle: [{ ...proofOf(job), outcome: "completed" }] })).toMatchObject({
      settled: [{ id: job.id, ok: true }],
      jobs: [],
    });
    const { status, body } = await service.api("POST", "/v1/work", { worker: "w1", queues });
    expect([status, body.error.details.name]).toEqual([404, deleted]);
  });
});

test("a token does not settle a job of another queue", async ({ service }) => {
  const queues = [await service.queue(), await service.queue()];
  for (const queue of queues) await service.enqueue({ queue });
  const [one, other] = [await takeOne(service, queues[0] as string), await takeOne(service, queues[1] as string)];
  const settled = await settle(service, { ...one, lease_token: other.lease_token }, { outcome: "completed" });
  expect(settled).toMatchObject(LOST);
  expect(await service.job(one)).toMatchObject({ state: "active" });
});

test("a response that its worker does not read counts as memory of its workspace", async ({ service }) => {
  const queue = await service.queue();
  const [id] = await enqueueLarge(service, queue, 100);
  const socket = workUnread(service, { worker: "w1", queues: [queue], limit: A_CALL });
  await service.untilState({ queue, id: id as string }, "active");
  const held = () => shareFigure(service, "request_memory", "held");
  await until(async () => (await held()) > (A_CALL / 2) * LARGE, "the response to be counted");
  socket.destroy();
  await until(async () => (await held()) === 0, "the response to be gone");
});

describe("a cancel", () => {
  test("a worker that waits is told at once that its job was cancelled", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const waiting = work(service, { queues: [queue], wait: 30 });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    expect(await waiting).toMatchObject({ jobs: [], cancelled: [id] });
    expect(await settle(service, job, { outcome: "completed" })).toMatchObject(LOST);
    expect(await service.job({ queue, id })).toMatchObject({ state: "cancelled" });
  });

  test("a worker that extends its leases is told that a job was cancelled", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const extending = service.ok("POST", "/v1/work/extend", { worker: "w1", leases: [proofOf(job)], wait: 30 });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    expect((await extending).cancelled).toEqual([id]);
    const again = await service.ok("POST", "/v1/work/extend", { worker: "w1", leases: [proofOf(job)] });
    expect(again).toMatchObject({ leases: [{ id, ok: false, lease_expires_at: null }], cancelled: [id] });
  });

  test("a job that was retried and taken again is not reported as cancelled", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    await takeOne(service, queue);
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    await service.ok("POST", `/v1/queues/${queue}/jobs/${id}/retry`);
    expect(await work(service, { queues: [queue] })).toMatchObject({ jobs: [{ id, attempt: 2 }], cancelled: [] });
  });
});
