import { beforeEach, describe, expect, test, vi } from "vitest";
import type { CircuitEffect } from "#circuits";
import { type JobKind, JobKinds, Settler } from "#engine";
import type { Claim } from "#jobs";
import { type LockWaits, type Statement, unavailable } from "#kernel";
import type { Verdict } from "../../src/engine/judge.ts";
import { claimed, jobId } from "../harness/dispatcher-fixture.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { until } from "../harness/service.ts";

const COMPLETE: Verdict = { kind: "complete", status: 200, result: null };
const RETRY: Verdict = { kind: "retry", waitMs: 1_000, error: { code: "TIMEOUT", message: "Too slow.", status: null } };

let written: string[][];
let told: string[];
let fault: (ids: string[]) => Error | null;
let hang: (ids: string[]) => Promise<Error | null | undefined>;
let settler: Settler;
let shared: LockWaits;

beforeEach(() => {
  written = [];
  told = [];
  fault = () => null;
  hang = async () => null;
  const query = async ({ values }: Statement) => {
    // Of the columns of a settle, that of the jobs is the last one with ids.
    const jobs = values.map((value) => String(value).match(/[0-9a-f-]{36}/g) ?? []).findLast(({ length }) => length > 0) ?? [];
    const error = fault(jobs) ?? (await hang(jobs));
    if (error) throw error;
    written.push(jobs);
    return { rows: [{ moved: jobs.length, ids: null, opened: [] }] };
  };
  shared = lockWaits();
  settler = new Settler({ query, transaction: (work) => work({ query }) }, new JobKinds([]), (event) => told.push(event), shared);
});

const add = (id: number, verdict: Verdict = COMPLETE, claim: Claim = claimed(id)) => settler.add(claim, verdict, { tookMs: 1 });

describe("what became of attempts", () => {
  test("what became of attempts is written together, what completed apart from what did not", async () => {
    await Promise.all([add(1), add(2, RETRY), add(3)]);
    expect(written.map((ids) => ids.length).sort()).toEqual([1, 2]);
    expect(written.flat().sort()).toEqual([jobId(1), jobId(2), jobId(3)]);
  });

  test("what became of attempts is written apart when the results are large", async () => {
    const large: Verdict = { ...COMPLETE, result: `"${"x".repeat(64_000)}"` };
    await Promise.all(Array.from({ length: 101 }, (_, id) => add(id, large)));
    expect(Math.max(...written.map((ids) => ids.length))).toBeLessThan(60);
  });

  test("what became of attempts is not forgotten while the database is away: it is written once that is back", async () => {
    let refusals = 3;
    fault = () => (refusals-- > 0 ? unavailable("The database is away.") : null);
    await add(1);
    expect(written).toEqual([[jobId(1)]]);
    expect(told.filter((event) => event === "settle_retried")).toHaveLength(3);
  });

  test("what became of attempts is left to whoever takes the claims back, once the node gives up", async () => {
    fault = () => unavailable("The database is away.");
    const settling = add(1);
    await until(() => told.includes("settle_retried"), "a first try");
    settler.giveUp();
    await settling;
    await settler.settled();
    expect(written).toEqual([]);
  });

  test("what took too long to write does not hold up the others, and is written in the end", async () => {
    fault = (ids) => (ids.includes(jobId(1)) ? Object.assign(unavailable(), { cause: { code: "57014" } }) : null);
    let isDone = false;
    const slow = [1, 2].map((id) => add(id, COMPLETE, claimed(id, 1)));
    void slow[0]?.then(() => (isDone = true));
    await Promise.all([2, 3, 4].map((lane) => add(lane + 1, COMPLETE, claimed(lane + 1, lane))));
    await add(6, COMPLETE, claimed(6, 2));
    await slow[1];
    expect(isDone).toBe(false);
    expect(settler.isSettling(claimed(1))).toBe(true);
    expect(settler.isSettling(claimed(2))).toBe(false);
    const settled = settler.settled();
    fault = () => null;
    await settled;
    expect(settler.isSettling(claimed(1))).toBe(false);
    expect(await slow[0]).toBe(true);
    expect(written.flat().sort()).toEqual([1, 2, 3, 4, 5, 6].map(jobId));
  });

  test("a row that is locked for long costs what is written together one timeout, and its lane the others", async () => {
    const timeouts: number[] = [];
    fault = (ids) => {
      if (!ids.includes(jobId(1))) return null;
      timeouts.push(ids.length);
      return Object.assign(unavailable(), { cause: { code: "57014" } });
    };
    const all = Array.from({ length: 16 }, (_, at) => add(at + 1, COMPLETE, claimed(at + 1, at % 2)));
    await Promise.all(all.slice(1));
    expect(timeouts.filter((jobs) => jobs > 1)).toEqual([16]);
    // Of the lane whose row is locked: alone. Of others: together again.
    written = [];
    await Promise.all([17, 18, 19, 20].map((id) => add(id, COMPLETE, claimed(id, id % 2))));
    expect(written.map((ids) => ids.length).sort()).toEqual([1, 1, 2]);
    fault = () => null;
    expect(await all[0]).toBe(true);
  });

  test("one that timed out alone holds up no other of its lane, and these are written together again when it is written", async () => {
    const lock = Promise.withResolvers<undefined>();
    let tries = 0;
    hang = async (ids) => {
      if (!ids.includes(jobId(1))) return null;
      tries += 1;
      if (tries > 2) return lock.promise;
      return Object.assign(unavailable(), { cause: { code: "57014" } });
    };
    const [locked, other] = [add(1, COMPLETE, claimed(1, 0)), add(2, COMPLETE, claimed(2, 1))];
    await other;
    await until(() => tries === 3, "it to be tried after it had timed out alone");
    await add(3, COMPLETE, claimed(3, 0));
    const later = Array.from({ length: 50 }, (_, at) => add(at + 11, COMPLETE, claimed(at + 11, 0)));
    await later[0];
    lock.resolve(undefined);
    expect(await locked).toBe(true);
    await Promise.all(later);
    expect(Math.max(...written.map((ids) => ids.length))).toBeGreaterThan(10);
  });

  test("one that timed out alone has the turns of what waits for locks, and others do not wait for it", async () => {
    let isTimeout = true;
    fault = (ids) => (isTimeout && ids.includes(jobId(1)) ? Object.assign(unavailable(), { cause: { code: "57014" } }) : null);
    const turn = Promise.withResolvers<void>();
    const waiting: string[] = [];
    shared.run = async (of, work) => {
      waiting.push(of);
      await turn.promise;
      return work();
    };
    const blocked = add(1);
    await until(() => waiting.length > 0, "it to wait for its turn");
    isTimeout = false;
    await add(2);
    expect([waiting, written]).toEqual([["settle"], [[jobId(2)]]]);
    turn.resolve();
    expect(await blocked).toBe(true);
    expect(written).toEqual([[jobId(2)], [jobId(1)]]);
  });

  test("one that timed out alone is tried at a stop without a turn, after all that was written together", async () => {
    fault = (ids) => (ids.includes(jobId(1)) ? Object.assign(unavailable(), { cause: { code: "57014" } }) : null);
    const others = Promise.withResolvers<void>();
    const due = shared.run("due", () => others.promise);
    const turns = vi.spyOn(shared, "run");
    const blocked = [add(1), add(2, COMPLETE, claimed(2, 2))];
    await blocked[1];
    await until(() => turns.mock.calls.length === 1, "it to wait for its turn");
    const write = Promise.withResolvers<null>();
    hang = (ids) => (ids.includes(jobId(3)) ? write.promise : Promise.resolve(null));
    blocked.push(add(3, COMPLETE, claimed(3, 2)));
    fault = () => null;
    const settled = settler.settled();
    await new Promise(setImmediate);
    expect(written).toEqual([[jobId(2)]]);
    write.resolve(null);
    await settled;
    expect(await Promise.all(blocked)).toEqual([true, true, true]);
    expect(written).toEqual([2, 3, 1].map((id) => [jobId(id)]));
    others.resolve();
    await due;
    expect(written).toHaveLength(3);
  });

  test("what took too long to write is given up with the node", async () => {
    fault = () => Object.assign(unavailable(), { cause: { code: "57014" } });
    const settling = add(1);
    await until(() => told.includes("settle_retried"), "a first try");
    settler.giveUp();
    expect(await settling).toBe(false);
    await settler.settled();
  });

  test("an attempt that the database refuses to settle does not keep the others from being written", async () => {
    fault = (ids) => (ids.includes(jobId(1)) ? Object.assign(new TypeError("invalid input syntax"), { code: "22P02" }) : null);
    void add(1);
    let others = 0;
    for (const id of [2, 3]) void add(id).then(() => (others += 1));
    void add(4, RETRY).then(() => (others += 1));
    await until(() => others === 3, "the others to be written");
    void add(5).then(() => (others += 1));
    await until(() => others === 4, "a later one to be written");
    settler.giveUp();
  });

  test.for(["fails", "opens"] as const)(
    "a kind is told what is written of an attempt that failed while another node opened the circuit: %s",
    async (effect) => {
      let open: number[] = [1];
      const outcomes: Verdict["kind"][] = [];
      const spared: unknown[] = [];
      const query = async ({ text, values }: Statement) => {
        if (text.includes("select c.lane_id")) return { rows: open.map((lane_id) => ({ lane_id })) };
        if (text.includes("spent_probe")) spared.push(values.find((value) => value === "{true}" || value === "{false}"));
        return { rows: [{ moved: 1, ids: [jobId(1)], opened: [] }] };
      };
      const settled = async (_: unknown, written: readonly { verdict: Verdict }[]) => {
        outcomes.push(...written.map(({ verdict }) => verdict.kind));
      };
      const kind = { name: "queue", recorded: true, settled } as unknown as JobKind;
      shared = lockWaits();
      settler = new Settler({ query, transaction: (work) => work({ query }) }, new JobKinds([kind]), () => {}, lockWaits());
      const circuit: CircuitEffect = effect === "opens" ? { kind: "opens", probeInMs: 1_000 } : { kind: "fails" };
      await settler.add(claimed(1), RETRY, { tookMs: 1, circuit });
      open = [];
      await settler.add(claimed(1), RETRY, { tookMs: 1, circuit });
      expect(outcomes).toEqual(["defer", "retry"]);
      // The second one counts, also if the circuit opens before it is written.
      expect(spared).toEqual(["{true}", "{false}"]);
    },
  );
});
