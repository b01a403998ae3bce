import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Holder, WorkerClaim } from "#jobs";
import { SharedResource, unavailable, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { EagerRun, RunHolder } from "#workflows";
import { waitingWorkers } from "../../src/workers/hand-over.ts";
import type { KnownWorker } from "../../src/workers/known-worker.ts";
import type { PolledLane } from "../../src/workers/poll.ts";
import { Polls } from "../../src/workers/polls.ts";

const workspaceOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}` as WorkspaceId;

const MIB = 1024 * 1024;
const TIMED_OUT = Object.assign(unavailable("The database is unavailable."), { cause: { code: "57014" } });

/** Polls whose claims bring what each holder asks for, when the test lets them. */
function setUp() {
  const calls: {
    holders: readonly Holder[];
    isFromBacklog: boolean;
    bring: () => void;
    bringNothing: () => void;
    fail: (error: unknown) => void;
  }[] = [];
  const claimsOf = (holders: readonly Holder[]) =>
    holders.flatMap(({ take, laneId, leaseId, request }) =>
      Array.from({ length: take }, (_, at) => ({ laneId, leaseId, request, place: at + 1, payload: "{}" })),
    ) as WorkerClaim[];
  const call = (holders: readonly Holder[], isFromBacklog: boolean) =>
    new Promise<WorkerClaim[]>((resolve, reject) => {
      calls.push({ holders, isFromBacklog, bring: () => resolve(claimsOf(holders)), bringNothing: () => resolve([]), fail: reject });
    });
  const memory = new SharedResource({ name: "request_memory", capacity: 100 * MIB });
  const polls = new Polls({
    claim: async (holders) => ({ claims: await call(holders, false), found: [] }),
    claimFromBacklog: (holders) => call(holders, true),
    filterOf: () => null,
    release: () => {},
    memory,
    emit: () => {},
    clock: { elapsedMs: () => performance.now() },
  });
  const laneOf = (n: number, kind: "queue" | "workflow"): PolledLane =>
    polls.lanes.found({ workspaceId: workspaceOf(n), laneId: n as LaneId }, { kind, name: `${kind}-${n}` }, 0);
  const poll = (n: number, kind: "queue" | "workflow" = "queue", limit = 1, waitMs = 60_000) => {
    const worker = { workspaceId: workspaceOf(n), leaseId: n } as KnownWorker;
    const asked = {
      worker,
      keyId: null,
      lanes: [laneOf(n, kind)],
      limit,
      leaseSeconds: 30,
      request: null,
      waitMs,
      signal: new AbortController().signal,
      hold: (bytes: number) => memory.take(workspaceOf(n), bytes),
    };
    return polls.take(asked).then(({ claims }) => claims);
  };
  const next = async () => {
    await expect.poll(() => calls.length).toBeGreaterThan(0);
    return calls.shift() as (typeof calls)[number];
  };
  return { polls, poll, next, memory };
}

const [WORKSPACE, WORKFLOW] = [workspaceOf(1), "workflow-1"];

describe("a call whose lane is forgotten after it was looked up", () => {
  test("ends immediately, and claims nothing", async () => {
    const { polls } = setUp();
    const worker = { workspaceId: WORKSPACE, leaseId: 1 } as KnownWorker;
    const lane = polls.lanes.found({ workspaceId: WORKSPACE, laneId: 1 as LaneId }, { kind: "queue", name: "queue-1" }, 0);
    polls.forget(lane.laneId);
    const { signal } = new AbortController();
    const call = { worker, keyId: null, limit: 1, leaseSeconds: 30, request: null, waitMs: 60_000, signal, hold: () => {} };
    expect(await polls.take({ ...call, lanes: [lane] })).toMatchObject({ claims: [] });
    polls.close();
  });
});

describe("a workspace whose responses fill its share of the memory", () => {
  test("gets no jobs until one is taken; others do", async () => {
    const { polls, poll, next, memory } = setUp();
    memory.take(workspaceOf(1), 75 * MIB);
    const waiting = poll(1);
    const other = poll(2);
    const first = await next();
    expect(first.holders).toMatchObject([{ leaseId: 2 }]);
    first.bring();
    expect(await other).toHaveLength(1);
    memory.release(workspaceOf(1), 75 * MIB);
    const second = await next();
    expect(second.holders).toMatchObject([{ leaseId: 1 }]);
    second.bring();
    expect(await waiting).toHaveLength(1);
    polls.close();
  });

  test("is refused in words if it does not wait", async () => {
    const { polls, poll, memory } = setUp();
    memory.take(workspaceOf(1), 75 * MIB);
    await expect(poll(1, "queue", 1, 0)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/^Your workspace's share/),
    });
    polls.close();
  });

  test("is not given runs that start", async () => {
    const { polls, memory } = await setUpWaiting();
    memory.take(WORKSPACE, 75 * MIB);
    expect(polls.reserve(WORKSPACE, WORKFLOW)).toBeNull();
    memory.release(WORKSPACE, 75 * MIB);
    expect(polls.reserve(WORKSPACE, WORKFLOW)).not.toBeNull();
    polls.close();
  });

  test("counts jobs from when they are claimed, before the response is made", async () => {
    const { polls, poll, next, memory } = setUp();
    const response = poll(1, "queue", 3);
    (await next()).bring();
    expect(await response).toHaveLength(3);
    expect(memory.heldBy(workspaceOf(1))).toBe(3 * "{}".length);
    polls.close();
  });
});

/** A run that was started eagerly for a worker. */
const heldBy = (holder: RunHolder): EagerRun =>
  ({ holder, claim: { laneId: holder.laneId, leaseId: holder.leaseId, payload: "{}" }, begun: { id: "r" } }) as unknown as EagerRun;

/** As `setUp`, with a worker that waits for runs of a workflow. Claims have found none. */
async function setUpWaiting() {
  const { polls, poll, next, memory } = setUp();
  const response = poll(1, "workflow");
  (await next()).bringNothing();
  await setImmediate();
  const workers = waitingWorkers(polls, () => 1);
  const start = (write: (holder: RunHolder | null) => Promise<readonly EagerRun[]>) =>
    workers.handOver(async (holderOf) => ({ result: "started", held: await write(holderOf(WORKSPACE, WORKFLOW)), unknown: new Map() }));
  return { polls, memory, next, response, workers, start };
}

const lanesOf = ({ holders }: { holders: readonly Holder[] }): number[] => holders.map(({ laneId }) => laneId);

describe("a claim that takes too long", () => {
  test("is tried again lane by lane, while others are claimed from", async () => {
    const { polls, poll, next } = setUp();
    const [first, second] = [poll(1), poll(2)];
    const together = await next();
    expect(lanesOf(together)).toEqual([1, 2]);
    together.fail(TIMED_OUT);
    const slow = await next();
    expect(lanesOf(slow)).toEqual([1]);
    const third = poll(3);
    const other = await next();
    expect(lanesOf(other)).toEqual([3]);
    other.bring();
    expect(await third).toMatchObject([{ laneId: 3 }]);
    slow.bring();
    const last = await next();
    expect(lanesOf(last)).toEqual([2]);
    last.bring();
    expect(await first).toMatchObject([{ laneId: 1 }]);
    expect(await second).toMatchObject([{ laneId: 2 }]);
    polls.close();
  });

  test("is tried again after those of other slow lanes", async () => {
    const { polls, poll, next } = setUp();
    const [first, second] = [poll(1), poll(2)];
    (await next()).fail(TIMED_OUT);
    (await next()).fail(TIMED_OUT);
    const other = await next();
    expect(lanesOf(other)).toEqual([2]);
    other.bring();
    expect(await second).toHaveLength(1);
    const again = await next();
    expect(lanesOf(again)).toEqual([1]);
    again.bring();
    expect(await first).toHaveLength(1);
    polls.close();
  });
});

describe("a queue whose last claim brought all that was asked for", () => {
  test("is claimed from as a backlog, until that brings nothing: then the general claim says why", async () => {
    const { polls, poll, next } = setUp();
    const kinds: boolean[] = [];
    const nextOf = async () => {
      const claim = await next();
      kinds.push(claim.isFromBacklog);
      return claim;
    };
    for (let jobs = 0; jobs < 2; jobs += 1) {
      const taking = poll(1, "queue", 2);
      (await nextOf()).bring();
      expect(await taking).toHaveLength(2);
    }
    const waiting = poll(1, "queue", 2);
    (await nextOf()).bringNothing();
    (await nextOf()).bringNothing();
    polls.wake([{ workspaceId: workspaceOf(1), laneId: 1 as LaneId }]);
    (await nextOf()).bring();
    expect(await waiting).toHaveLength(2);
    expect(kinds).toEqual([false, true, true, false, false]);
    polls.close();
  });

  test("is claimed from generally together with other queues", async () => {
    const { polls, poll, next } = setUp();
    const first = poll(1, "queue", 2);
    (await next()).bring();
    expect(await first).toHaveLength(2);
    const together = [poll(1), poll(2)];
    const claim = await next();
    expect([lanesOf(claim), claim.isFromBacklog]).toEqual([[1, 2], false]);
    claim.bring();
    expect((await Promise.all(together)).flat()).toHaveLength(2);
    polls.close();
  });

  test.for([
    ["it is a workflow", "workflow", 2],
    ["it was asked for one job", "queue", 1],
  ] as const)("is claimed from generally if %s", async ([, kind, limit]) => {
    const { polls, poll, next } = setUp();
    for (let calls = 0; calls < 2; calls += 1) {
      const taking = poll(1, kind, limit);
      const claim = await next();
      expect(claim.isFromBacklog).toBe(false);
      claim.bring();
      expect(await taking).toHaveLength(limit);
    }
    polls.close();
  });
});

test("a claim that fails is repeated", async () => {
  const { polls, poll, next } = setUp();
  const first = poll(1);
  const claim = await next();
  claim.fail(new Error("The connection is gone."));
  const again = await next();
  expect(lanesOf(again)).toEqual([1]);
  again.bring();
  expect(await first).toHaveLength(1);
  polls.close();
});

describe("a worker that waits for runs", () => {
  test("gets one that was started eagerly for it, without a claim", async () => {
    const { polls, response, start } = await setUpWaiting();
    const started = await start(async (holder) => {
      expect(holder).toMatchObject({ laneId: 1, leaseId: 1, leaseSeconds: 30, request: null, version: null });
      return [heldBy(holder as RunHolder)];
    });
    expect(started).toBe("started");
    expect(await response).toMatchObject([{ laneId: 1, leaseId: 1, place: 1, begun: { id: "r" } }]);
    expect(polls.reserve(WORKSPACE, WORKFLOW)).toBeNull();
    polls.close();
  });

  test("is reserved once, and not claimed for, until the run is started; if it was not, claims go on", async () => {
    const { polls, next, response, start } = await setUpWaiting();
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const starting = start(async () => {
      begun.resolve();
      await ended.promise;
      return [];
    });
    await begun.promise;
    await start(async (holder) => {
      expect(holder).toBeNull();
      return [];
    });
    polls.wake([{ workspaceId: WORKSPACE, laneId: 1 as LaneId }]);
    await setImmediate();
    ended.resolve();
    await starting;
    (await next()).bring();
    expect(await response).toMatchObject([{ laneId: 1 }]);
    polls.close();
  });

  test("is responded to with an error when that is not known of its run alone, though others were started", async () => {
    const { polls, response, workers } = await setUpWaiting();
    const away = unavailable();
    const started = await workers.handOver(async (holderOf) => {
      const holder = holderOf(WORKSPACE, WORKFLOW) as RunHolder;
      return { result: "started", held: [], unknown: new Map([[holder, away]]) };
    });
    expect(started).toBe("started");
    await expect(response).rejects.toBe(away);
    polls.close();
  });

  test("is responded to with an error when it is not known whether it holds a run: it calls again", async () => {
    const { response, start } = await setUpWaiting();
    const away = unavailable("The database is unavailable.");
    const refused = expect(response).rejects.toBe(away);
    await expect(start(() => Promise.reject(away))).rejects.toBe(away);
    await refused;
  });

  test("waits on when its run was refused", async () => {
    const { polls, next, response, start } = await setUpWaiting();
    await expect(start(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    polls.wake([{ workspaceId: WORKSPACE, laneId: 1 as LaneId }]);
    (await next()).bring();
    expect(await response).toMatchObject([{ laneId: 1 }]);
    polls.close();
  });

  test("gets none while claims look for runs: another may come first", async () => {
    const { polls, poll, next } = setUp();
    const response = poll(1, "workflow");
    expect(polls.reserve(WORKSPACE, WORKFLOW)).toBeNull();
    (await next()).bring();
    await response;
    polls.close();
  });
});
