import { describe, expect, test } from "vitest";
import type { Holder, WorkerClaim } from "#jobs";
import { unavailable, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { KnownWorker } from "../../src/workers/known-worker.ts";
import type { PolledLane } from "../../src/workers/poll.ts";
import { Polls } from "../../src/workers/polls.ts";

const workspaceOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}` as WorkspaceId;

const TIMED_OUT = Object.assign(unavailable("The database is unavailable."), { cause: { code: "57014" } });

/** Polls whose claims bring one job for each holder, when the test lets them. */
function setUp() {
  const calls: { holders: readonly Holder[]; bring: () => void; fail: (error: unknown) => void }[] = [];
  const polls = new Polls({
    claim: (holders) =>
      new Promise((resolve, reject) => {
        const claims = holders.map(({ laneId, leaseId, request }) => ({ laneId, leaseId, request, place: 1, payload: "{}" }));
        calls.push({ holders, bring: () => resolve({ claims: claims as WorkerClaim[], found: [] }), fail: reject });
      }),
    filterOf: () => null,
    giveBack: () => {},
    emit: () => {},
    clock: { elapsedMs: () => performance.now() },
  });
  const laneOf = (n: number): PolledLane =>
    polls.lanes.found({ workspaceId: workspaceOf(n), laneId: n as LaneId }, { kind: "queue", name: `queue-${n}` }, 0);
  const poll = (n: number) => {
    const worker = { workspaceId: workspaceOf(n), leaseId: n } as KnownWorker;
    const asked = {
      worker,
      lanes: [laneOf(n)],
      limit: 1,
      leaseSeconds: 30,
      request: null,
      waitMs: 60_000,
      signal: new AbortController().signal,
    };
    return polls.take(asked);
  };
  const next = async () => {
    await expect.poll(() => calls.length).toBeGreaterThan(0);
    return calls.shift() as (typeof calls)[number];
  };
  return { polls, poll, next };
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
