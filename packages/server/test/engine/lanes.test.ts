import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairShare, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { type LaneShare, LaneShares } from "../../src/engine/lane-shares.ts";

const workspace = (id: number) => `00000000-0000-0000-0000-${String(id).padStart(12, "0")}` as WorkspaceId;
/** A lane, mostly of a workspace of its own. Those from 10,000 on are all of one workspace. */
const lane = (id: number): LaneKey => ({ workspaceId: workspace(Math.min(id, 10_000)), laneId: id as LaneId });
const MAX_PAYLOAD = 256 * 1024 * 1024;
const lanesOf = (capacity: number) => new LaneShares({ deliverySlots: new FairShare(capacity), payloadMemory: new FairShare(MAX_PAYLOAD) });
const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

/** LaneShares as a dispatcher uses them, with the jobs that wait in each. Attempts end when a test ends them. */
class Shop {
  readonly lanes: LaneShares;
  readonly waiting = new Map<LaneId, number>();
  readonly flying = new Map<LaneId, number>();
  nowMs = 0;

  constructor(capacity: number) {
    this.lanes = lanesOf(capacity);
  }

  add(id: number, jobs: number): void {
    const { laneId } = lane(id);
    this.waiting.set(laneId, (this.waiting.get(laneId) ?? 0) + jobs);
    this.lanes.wake(lane(id));
  }

  /** Returns how much each lane got. */
  claim(): Map<LaneId, number> {
    // Long enough since the last response that no lane counts as busy.
    this.nowMs += 25;
    const shares = this.lanes.shares(this.nowMs);
    const got = new Map<LaneId, number>();
    for (const { lane: key, take } of shares) {
      const jobs = Math.min(take, this.waiting.get(key.laneId) ?? 0);
      got.set(key.laneId, jobs);
      this.waiting.set(key.laneId, (this.waiting.get(key.laneId) ?? 0) - jobs);
      this.flying.set(key.laneId, (this.flying.get(key.laneId) ?? 0) + jobs);
      for (let job = 0; job < jobs; job += 1) this.lanes.started(key, this.nowMs);
    }
    for (const share of shares) this.lanes.claimed(share, got.get(share.lane.laneId) ?? 0);
    return got;
  }

  end(id: number, jobs = 1): void {
    const { laneId } = lane(id);
    for (let job = 0; job < jobs && (this.flying.get(laneId) ?? 0) > 0; job += 1) {
      this.flying.set(laneId, (this.flying.get(laneId) ?? 0) - 1);
      this.lanes.ended(lane(id), this.nowMs);
      this.lanes.settled(lane(id));
    }
  }

  /** Claims, and lets time pass without responses, until nothing changes any more. */
  untilFull(): void {
    for (let quiet = 0; quiet < 20; quiet += 1) {
      while (sum([...this.claim().values()]) > 0) quiet = 0;
      this.nowMs += 100;
      this.lanes.widen(this.nowMs);
    }
  }

  of = (id: number): number => this.flying.get(lane(id).laneId) ?? 0;
}

test("a lane that is woken while its last attempt is settled comes before lanes that are busy", () => {
  const shop = new Shop(4_096);
  for (let id = 2; id <= 1_000; id += 1) shop.add(id, 1_000);
  shop.add(1, 1);
  while (shop.of(1) === 0) shop.claim();
  shop.lanes.ended(lane(1), shop.nowMs);
  shop.add(1, 1);
  shop.lanes.settled(lane(1));
  for (let id = 2; id <= 1_000; id += 1) shop.end(id, 1);
  expect(shop.claim().get(lane(1).laneId)).toBe(1);
});

test("a lane with limits is remembered as one until a claim finds it empty", () => {
  const lanes = lanesOf(64);
  const share = () => {
    const [first] = lanes.shares(0);
    if (!first) throw new Error("There is nothing to claim from.");
    return first;
  };
  lanes.wake(lane(1));
  const found = share();
  lanes.started(lane(1), 0);
  lanes.passedOver(found.lane);
  lanes.claimed(found, 1);
  lanes.claimed(share(), 0);
  lanes.ended(lane(1), 0);
  expect(lanes.settled(lane(1))).toBe(true);
  lanes.wake(lane(1));
  expect(share().lane.limited).toBe(true);
});

test("a lane of which 4,096 attempts wait to be settled gets no more jobs, and is woken by the first that is", () => {
  const lanes = lanesOf(10_000);
  lanes.wake(lane(1));
  for (let job = 0; job < 4_096; job += 1) {
    expect(lanes.hasRoom(lane(1))).toBe(true);
    lanes.started(lane(1), 0);
    lanes.ended(lane(1), 0);
  }
  expect([lanes.hasRoom(lane(1)), lanes.shares(1_000)]).toEqual([false, []]);
  expect([lanes.settled(lane(1)), lanes.settled(lane(1))]).toEqual([true, false]);
  expect(lanes.shares(1_000).map(({ lane: { laneId } }) => laneId)).toEqual([1]);
});

test("after a claim that failed, a node asks a lane for as few jobs as one whose payloads it does not know", () => {
  const lanes = lanesOf(4_096);
  const shareOf = (id: number) => {
    lanes.wake(lane(id));
    const [first] = lanes.shares(0);
    if (!first) throw new Error("There is nothing to claim from.");
    return first;
  };
  const first = shareOf(1);
  for (let job = 0; job < first.take; job += 1) lanes.started(lane(1), 0, 10);
  lanes.claimed(first, first.take, first.take * 10);
  for (let job = 0; job < first.take; job += 1) lanes.ended(lane(1), 0, 10);
  const second = shareOf(1);
  expect(second.take).toBeGreaterThan(first.take);
  lanes.claimFailed([second]);
  expect(shareOf(1).take).toBe(first.take);
});

describe("one lane that hangs", () => {
  test.each([2, 3, 10, 64, 100, 256, 300, 1_000, 4_096])("one lane that hangs gets at most half of a node with room for %i", (capacity) => {
    const shop = new Shop(capacity);
    shop.add(1, 100_000);
    shop.untilFull();
    expect(shop.of(1)).toBeLessThanOrEqual(Math.ceil(capacity / 2));
    expect(shop.of(1)).toBeGreaterThanOrEqual(Math.floor(capacity / 2));
  });

  test("one lane that hangs leaves room for the next one, and that for the one after", () => {
    const shop = new Shop(64);
    for (const id of [1, 2, 3]) {
      shop.add(id, 100_000);
      shop.untilFull();
      expect(shop.of(id)).toBeGreaterThanOrEqual(1);
    }
    expect(shop.lanes.inFlight).toBeLessThan(64);
  });

  test("one lane that hangs never gets more than half, whatever ends meanwhile", () => {
    const capacity = fc.integer({ min: 2, max: 1_000 });
    fc.assert(
      fc.property(capacity, fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 20 }), (most, ends) => {
        const shop = new Shop(most);
        shop.add(1, 100_000);
        for (const count of [...ends, 0]) {
          shop.untilFull();
          expect(shop.of(1)).toBeLessThanOrEqual(Math.ceil(most / 2));
          shop.end(1, count);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("several lanes that hang together", () => {
  test.each([
    [2, 408],
    [3, 320],
    [5, 216],
  ])(
    "several lanes of different workspaces that hang together get equal shares of a node with room for 1,200, and leave some: %i of them get %i each",
    (count, each) => {
      const shop = new Shop(1_200);
      for (let id = 1; id <= count; id += 1) shop.add(id, 100_000);
      shop.untilFull();
      for (let id = 1; id <= count; id += 1) expect(Math.abs(shop.of(id) - each)).toBeLessThanOrEqual(count);
      expect(1_200 - shop.lanes.inFlight).toBeGreaterThanOrEqual(each / 2);
    },
  );
});

describe("a claim", () => {
  test("a claim gives lanes with work equal shares", () => {
    const shop = new Shop(1_000);
    for (const id of [1, 2, 3, 4]) shop.add(id, 1_000);
    const shares = shop.lanes.shares(shop.nowMs).map(({ take }) => take);
    expect(new Set(shares).size).toBe(1);
  });

  test("a claim asks nothing of lanes that have no work", () => {
    const shop = new Shop(100);
    shop.add(1, 1);
    shop.claim();
    shop.claim();
    expect(shop.lanes.shares(shop.nowMs)).toEqual([]);
  });

  test("a claim asks for no more than there is room for, however many lanes there are", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 200 }),
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 0, max: 100 }),
        (capacity, count, before) => {
          const shop = new Shop(capacity);
          shop.add(0, before);
          shop.claim();
          for (let id = 1; id <= count; id += 1) shop.add(id, 5);
          expect(sum(shop.lanes.shares(shop.nowMs).map(({ take }) => take))).toBeLessThanOrEqual(capacity - shop.lanes.inFlight);
        },
      ),
    );
  });

  test("a claim beside another is for other workspaces, and brings no more than the other leaves free", () => {
    const shop = new Shop(10);
    shop.add(1, 100);
    const { workspaceId } = lane(1);
    expect(shop.lanes.shares(shop.nowMs, { jobs: 0, has: (id) => id === workspaceId })).toEqual([]);
    expect(shop.lanes.shares(shop.nowMs, { jobs: 8, has: () => false })).toMatchObject([{ take: 2 }]);
    expect(shop.lanes.shares(shop.nowMs, { jobs: 10, has: () => false })).toEqual([]);
  });

  test("a claim comes to every lane in turn, more than fit one claim too", () => {
    const shop = new Shop(2_000);
    for (let id = 1; id <= 300; id += 1) shop.add(id, 1_000);
    const served = new Set([1, 2, 3].flatMap(() => [...shop.claim().keys()]));
    expect(served.size).toBe(300);
  });

  test("a claim begins with a lane that had nothing to do until now, however many busy ones are in line", () => {
    const shop = new Shop(100_000);
    for (let id = 1; id <= 1_000; id += 1) shop.add(id, 1_000);
    for (let round = 0; round < 8; round += 1) shop.claim();
    shop.add(1_001, 1);
    expect(shop.claim().get(lane(1_001).laneId)).toBe(1);
  });

  test("a claim keeps half of its lanes for those in line, however many others wake", () => {
    const shop = new Shop(100_000);
    for (let id = 1; id <= 200; id += 1) shop.add(id, 10_000);
    for (let round = 0; round < 2; round += 1) shop.claim();
    for (let id = 1_001; id <= 2_000; id += 1) shop.add(id, 1);
    const busy = [...shop.claim().keys()].filter((id) => id <= 200);
    expect(busy).toHaveLength(64);
  });

  test("a claim begins with the lanes that the last one had no room for", () => {
    const shop = new Shop(2);
    shop.add(1, 1);
    shop.claim();
    shop.add(2, 10);
    shop.add(3, 10);
    const turns = [1, 2, 3, 4].map(() => {
      const [[id = 0] = []] = [...shop.claim()].filter(([, jobs]) => jobs > 0);
      shop.end(id);
      return id;
    });
    expect(new Set(turns)).toEqual(new Set([2, 3]));
  });

  test("a claim does not forget a lane that was woken while it was under way", () => {
    const shop = new Shop(100);
    shop.add(1, 1);
    const [share] = shop.lanes.shares(shop.nowMs);
    if (!share) throw new Error("A lane with work got no share.");
    shop.add(1, 1);
    shop.lanes.claimed(share, 0);
    expect(shop.lanes.shares(shop.nowMs).map(({ lane: { laneId } }) => laneId)).toEqual([1]);
  });

  test("a claim does not ask again where it got less than it asked for", () => {
    const shop = new Shop(100);
    shop.add(1, 1);
    shop.claim();
    expect(shop.lanes.shares(shop.nowMs)).toEqual([]);
    shop.add(1, 1);
    expect(shop.claim().get(lane(1).laneId)).toBe(1);
  });
});

describe("whatever comes and ends", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("add" as const), id: fc.integer({ min: 1, max: 6 }), jobs: fc.integer({ min: 1, max: 80 }) }),
    fc.record({ do: fc.constant("end" as const), id: fc.integer({ min: 1, max: 6 }), jobs: fc.integer({ min: 1, max: 80 }) }),
    fc.record({ do: fc.constant("claim" as const) }),
  );

  test("no more is under way than the node has room for, and no work is forgotten", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 100 }), fc.array(step, { maxLength: 60 }), (capacity, steps) => {
        const shop = new Shop(capacity);
        for (const one of steps) {
          if (one.do === "add") shop.add(one.id, one.jobs);
          else if (one.do === "end") shop.end(one.id, one.jobs);
          else shop.claim();
          expect(shop.lanes.inFlight).toBe(sum([...shop.flying.values()]));
          expect(shop.lanes.inFlight).toBeLessThanOrEqual(capacity);
        }
        for (let round = 0; round < 1_000 && sum([...shop.waiting.values()]) > 0; round += 1) {
          shop.claim();
          for (const id of [1, 2, 3, 4, 5, 6]) shop.end(id, 1_000);
        }
        expect(sum([...shop.waiting.values()])).toBe(0);
      }),
    );
  });
});

describe("a workspace with many lanes", () => {
  test("a workspace with many lanes that hang gets three quarters of a node, and others get a share of the rest", () => {
    const shop = new Shop(4_096);
    for (let id = 10_000; id < 15_000; id += 1) shop.add(id, 1);
    shop.untilFull();
    expect(shop.lanes.inFlight).toBe(3_072);
    shop.add(1, 10_000);
    shop.untilFull();
    expect(shop.of(1)).toBe(512);
    shop.add(2, 1);
    expect(shop.claim().get(lane(2).laneId)).toBe(1);
  });

  test("a workspace with many lanes has its turn when others have theirs, whether they are busy or had nothing to do", () => {
    const shop = new Shop(100_000);
    for (let id = 10_000; id < 15_000; id += 1) shop.add(id, 10);
    shop.add(1, 10);
    expect(shop.claim().get(lane(1).laneId)).toBe(10);
    for (let id = 20_000; id < 25_000; id += 1) shop.add(id, 10);
    shop.add(2, 10);
    expect(shop.claim().get(lane(2).laneId)).toBe(10);
  });

  test("a workspace with many lanes gets no more jobs of a claim than one with a single lane", () => {
    const shop = new Shop(100_000);
    for (let id = 10_000; id < 10_100; id += 1) shop.add(id, 1_000);
    shop.add(1, 100_000);
    // Until the window of a lane alone is wide enough for its share.
    for (let round = 0; round < 20; round += 1) {
      shop.claim();
      shop.end(1, 1_000);
      for (let id = 10_000; id < 10_100; id += 1) shop.end(id, 1_000);
    }
    const got = shop.claim();
    const alone = got.get(lane(1).laneId) ?? 0;
    got.delete(lane(1).laneId);
    expect(alone).toBe(250);
    expect(sum([...got.values()])).toBeLessThanOrEqual(alone);
  });

  test("a workspace with many lanes that had no room is not asked for, and does not keep others from it", () => {
    const shop = new Shop(8);
    for (let id = 10_000; id < 10_500; id += 1) shop.add(id, 2);
    shop.untilFull();
    expect(shop.lanes.shares(shop.nowMs)).toEqual([]);
    shop.add(1, 1);
    expect(shop.claim()).toEqual(new Map([[lane(1).laneId, 1]]));
  });
});

test("lanes of one workspace that hang one after the other leave room for the next", () => {
  const shop = new Shop(4_096);
  const got = [10_000, 10_001, 10_002, 10_003, 10_004].map((id) => {
    shop.add(id, 100_000);
    shop.untilFull();
    return shop.of(id);
  });
  expect(got).toEqual([2_048, 682, 228, 76, 25]);
});

describe("payloads that fill the memory", () => {
  test("a workspace whose many lanes have large payloads leaves memory to others, though none of the lanes was known", () => {
    const lanes = lanesOf(4_096);
    const large = MAX_PAYLOAD / 256;
    for (let id = 10_000; id < 10_400; id += 1) lanes.wake(lane(id));
    let started = 0;
    for (let nowMs = 1_000, open = lanes.shares(nowMs); open.length > 0; nowMs += 1_000, open = lanes.shares(nowMs)) {
      for (const share of open) {
        for (let job = 0; job < share.take; job += 1) lanes.started(share.lane, nowMs, large);
        lanes.claimed(share, share.take, share.take * large);
        started += share.take;
      }
    }
    expect(started).toBe(192);
    lanes.wake(lane(1));
    expect(lanes.shares(1_000_000)).toMatchObject([{ lane: { laneId: 1 }, take: 10 }]);
  });

  test("a lane whose payloads are large gets few of them in a claim, because the next claim waits until they have arrived", () => {
    const lanes = lanesOf(4_096);
    lanes.wake(lane(1));
    for (const share of lanes.shares(1_000)) lanes.claimed(share, share.take, share.take * 2 ** 18);
    expect(lanes.shares(2_000)).toMatchObject([{ take: 4 }]);
  });

  test("a lane whose attempts read much besides their payloads gets as many in a claim as the mean of it allows", () => {
    const lanes = lanesOf(4_096);
    lanes.wake(lane(1));
    const [first] = lanes.shares(1_000);
    const claimAfter = (reads: readonly number[]) => {
      for (const characters of reads) expect(lanes.tryTakeMore(lane(1), characters)).toBe(true);
      lanes.claimed(first as LaneShare, 10);
      return lanes.shares(2_000).map(({ take }) => take);
    };
    expect(claimAfter([2 ** 18, 2 ** 18])).toEqual([4]);
    expect(claimAfter([])).toEqual([4]);
    expect(claimAfter([2 ** 18, ...Array(15).fill(0)])).toEqual([64]);
    expect(claimAfter([0])).toEqual([64]);
  });

  test("attempts read more while their workspace has any room, and then no more, and others do", () => {
    const lanes = lanesOf(4_096);
    const taken = () => lanes.tryTakeMore(lane(10_000), MAX_PAYLOAD / 4);
    expect([taken(), taken(), taken(), taken()]).toEqual([true, true, true, false]);
    expect(lanes.tryTakeMore(lane(1), 1)).toBe(true);
    lanes.started(lane(10_000), 0);
    lanes.ended(lane(10_000), 1, MAX_PAYLOAD / 4);
    expect(taken()).toBe(true);
  });

  test.each([
    ["known", true],
    ["new", false],
  ])("many %s lanes of one workspace whose payloads are large get few of them in a claim together, in turns", (_, known) => {
    const lanes = lanesOf(4_096);
    const large = 2 ** 18;
    const claim = (nowMs: number) => {
      const open = lanes.shares(nowMs);
      for (const share of open) lanes.claimed(share, share.take, share.take * large);
      return open;
    };
    const ids = Array.from({ length: 100 }, (_, at) => 10_000 + at);
    if (known) {
      for (const id of ids) lanes.wake(lane(id));
      for (const id of ids) lanes.claimed({ lane: lanes.get(lane(id)), take: 1, wakes: 0 }, 1, large);
    } else {
      lanes.wake(lane(9_999_999));
      claim(0);
      for (const id of ids) lanes.wake(lane(id));
    }
    const served = new Set<LaneId>();
    for (let round = 0; round < 30; round += 1) {
      const open = claim(1_000 * (round + 1));
      expect(sum(open.map(({ take }) => take))).toBe(4);
      for (const share of open) served.add(share.lane.laneId);
    }
    expect(ids.filter((id) => !served.has(id as LaneId))).toEqual([]);
    lanes.wake(lane(1));
    expect(lanes.shares(100_000).map(({ lane: { laneId } }) => laneId)).toContain(1);
  });

  test("many new lanes with small payloads have their turns in few claims, once some payloads of their workspace are known", () => {
    const shop = new Shop(100_000);
    for (let id = 10_000; id < 11_000; id += 1) shop.add(id, 1);
    expect(shop.claim().size).toBe(11);
    let claims = 1;
    for (let got = 11; got < 1_000; claims += 1) got += sum([...shop.claim().values()]);
    expect(claims).toBeLessThanOrEqual(20);
  });

  test("a workspace whose payloads fill three quarters of it gets no more, and others do", () => {
    const lanes = lanesOf(4_096);
    const large = MAX_PAYLOAD / 256;
    for (let job = 0; job < 192; job += 1) lanes.started(lane(10_000), 0, large);
    lanes.wake(lane(10_001));
    expect(lanes.shares(1_000)).toEqual([]);
    expect(lanes.roomFor(lane(10_001).workspaceId)).toBe(0);
    lanes.wake(lane(1));
    expect(lanes.shares(1_000).map(({ lane: { laneId } }) => laneId)).toEqual([1]);
    for (let job = 0; job < 64; job += 1) lanes.ended(lane(10_000), 1_000, large);
    expect(lanes.shares(1_000).map(({ lane: { laneId } }) => laneId)).toContain(10_001);
  });

  test("keep further jobs from being claimed until some have landed", () => {
    const lanes = lanesOf(1_000);
    lanes.started(lane(1), 0, MAX_PAYLOAD);
    lanes.wake(lane(2));
    expect(lanes.shares(1_000)).toEqual([]);
    lanes.ended(lane(1), 1_000, MAX_PAYLOAD);
    expect(lanes.shares(1_000).map(({ lane: { laneId } }) => laneId)).toEqual([2]);
  });
});
