import { getEventListeners } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { StepReports, type Tries } from "../src/worker/step-reports.ts";
import { isJournalTooLarge } from "../src/workflow/not-stored.ts";

const STEP = { key: "a", type: "run", status: "completed" } as const;

test("reports that are stored or refused leave nothing on the signal of their run", async () => {
  const { signal } = new AbortController();
  let isRefused = false;
  const one = async () => {
    if (isRefused) throw new Error("Refused.");
    return {};
  };
  const reports = new StepReports({ one, many: async () => null });
  await reports.add("run_1", { lease_token: "t", steps: [STEP] }, signal);
  isRefused = true;
  await expect(reports.add("run_1", { lease_token: "t", steps: [STEP] }, signal)).rejects.toThrow("Refused.");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a report whose run is lost while it is under way is given up at once", async () => {
  const controller = new AbortController();
  const reports = new StepReports({ one: () => new Promise(() => {}), many: async () => null });
  const stored = reports.add("run_1", { lease_token: "t", steps: [STEP] }, controller.signal);
  controller.abort(new Error("Lost."));
  await expect(stored).rejects.toThrow("Lost.");
});

test.each([
  { details: { limit_steps: 10_000, limit_bytes: 1 }, isFull: true },
  { details: {}, isFull: false },
  // An older service.
  { details: undefined, isFull: false },
])("a report that is refused beside others has the details of its error: $details", async ({ details, isFull }) => {
  const full = { ok: false, steps: null, code: "PAYLOAD_TOO_LARGE" as const, message: "No room.", ...(details && { details }) };
  const many = async () => [
    { id: "run_1", ok: true, steps: 1, code: null, message: null },
    { id: "run_2", ...full },
  ];
  const reports = new StepReports({ one: () => expect.fail("It was sent alone."), many });
  const { signal } = new AbortController();
  const [, refused] = await Promise.allSettled(
    ["run_1", "run_2"].map((id) => reports.add(id, { lease_token: "t", steps: [STEP] }, signal)),
  );
  const error = (refused as PromiseRejectedResult).reason;
  expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", status: 413, message: "No room." });
  expect([error.details, isJournalTooLarge(error)]).toEqual([details ?? {}, isFull]);
});

test("a report that cannot be stored at the moment is repeated by itself, and does not hold up others", async () => {
  const repeated: (() => void)[] = [];
  const one = () => new Promise<object>((resolve) => repeated.push(() => resolve({})));
  const many = async () => [
    { id: "run_1", ok: false, steps: null, code: "UNAVAILABLE" as const, message: "Later." },
    { id: "run_2", ok: true, steps: 1, code: null, message: null },
  ];
  const reports = new StepReports({ one, many });
  const { signal } = new AbortController();
  const add = (id: string) => reports.add(id, { lease_token: "t", steps: [STEP] }, signal);
  for (let times = 0; times < 3; times += 1) {
    const postponed = add("run_1");
    await add("run_2");
    await vi.waitFor(() => expect(repeated).toHaveLength(1));
    repeated.pop()?.();
    await postponed;
  }
});

/** A service that stores no reports until it is back, and has no call for several of them if `many` is false. */
function openService({ hasMany = true, isAway = (_runId: string): boolean => true } = {}) {
  const calls: number[] = [];
  let [underWay, mostUnderWay] = [0, 0];
  const respond = async <T>(reports: number, { beforeNext }: Tries, isRefused: () => boolean, stored: T): Promise<T> => {
    for (;;) {
      calls.push(reports);
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      await new Promise((resolve) => setTimeout(resolve, 10));
      underWay -= 1;
      if (!isRefused()) return stored;
      await beforeNext(PAUSE_MS);
    }
  };
  const service = {
    isAway,
    /** How many reports each call has had since this was last read. */
    takeCalls: () => calls.splice(0),
    takeMostUnderWay: () => {
      const most = mostUnderWay;
      mostUnderWay = underWay;
      return most;
    },
  };
  const reports = new StepReports({
    one: (runId, _body, tries) => respond(1, tries, () => service.isAway(runId), {}),
    many: async (body, tries) => {
      if (!hasMany) return null;
      const ids = (JSON.parse(body) as { reports: { id: string }[] }).reports.map(({ id }) => id);
      const stored = ids.map((id) => ({ id, ok: true, steps: 1, code: null, message: null }));
      return respond(ids.length, tries, () => ids.some((id) => service.isAway(id)), stored);
    },
  });
  return Object.assign(service, {
    add: (runId: string, signal = new AbortController().signal) => reports.add(runId, { lease_token: "t", steps: [STEP] }, signal),
  });
}

const PAUSE_MS = 1_000;

function freezeTime(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

test.each([{ hasMany: true }, { hasMany: false }])(
  "reports that cannot be stored, each sent alone, hold up no others; the service has a call for several: $hasMany",
  async ({ hasMany }) => {
    freezeTime();
    const stuck = new Set(["run_1", "run_2", "run_3"]);
    const service = openService({ hasMany, isAway: (runId) => stuck.has(runId) });
    const waiting = [];
    for (const runId of stuck) {
      waiting.push(service.add(runId));
      await vi.advanceTimersByTimeAsync(PAUSE_MS);
    }
    const others = ["run_4", "run_5"].map((runId) => service.add(runId));
    await vi.advanceTimersByTimeAsync(20);
    await Promise.all(others);
    stuck.clear();
    await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
    await Promise.all(waiting);
  },
);

test("one of several reports in a call that makes it fail does not keep the others from being stored", async () => {
  freezeTime();
  const service = openService({ isAway: (runId) => runId === "run_3" });
  const ids = Array.from({ length: 8 }, (_, number) => `run_${number}`);
  const added = ids.map((runId) => service.add(runId));
  await vi.advanceTimersByTimeAsync(5 * PAUSE_MS);
  await Promise.all(added.filter((_, number) => number !== 3));
  expect(service.takeCalls().slice(0, 7)).toEqual([8, 4, 4, 2, 2, 1, 1]);
});

test("while the service is away, at most four calls with reports reach it for each pause; when it is back, all reports are stored", async () => {
  freezeTime();
  const service = openService({ hasMany: false });
  const added: Promise<unknown>[] = [];
  for (let number = 0; number < 300; number += 1) {
    added.push(service.add(`run_${number}`));
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
  service.takeCalls();
  service.takeMostUnderWay();
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  expect(service.takeCalls().length).toBeLessThanOrEqual(40);
  expect(service.takeMostUnderWay()).toBeLessThanOrEqual(4);
  service.isAway = () => false;
  await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
  await Promise.all(added);
  expect(service.takeMostUnderWay()).toBe(4);
});

test("a report that is given up while it waits to be repeated lets the others go on", async () => {
  freezeTime();
  const service = openService({ hasMany: false });
  const lost = new AbortController();
  const given = Array.from({ length: 10 }, (_, number) => service.add(`run_${number}`, lost.signal));
  const settled = Promise.allSettled(given);
  await vi.advanceTimersByTimeAsync(3 * PAUSE_MS);
  const other = service.add("run_10");
  await vi.advanceTimersByTimeAsync(20);
  lost.abort(new Error("Lost."));
  expect((await settled).map(({ status }) => status)).toEqual(Array(10).fill("rejected"));
  service.isAway = () => false;
  await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
  await other;
  expect(getEventListeners(lost.signal, "abort")).toEqual([]);
});

test.each([
  { answer: "an empty list", reports: [] },
  { answer: "a list without the last report", reports: [{ id: "run_1", ok: true, steps: 1, code: null, message: null }] },
  {
    answer: "the reports of other runs",
    reports: ["run_3", "run_4"].map((id) => ({ id, ok: true, steps: 1, code: null, message: null })),
  },
])("reports to which $answer comes back are sent one by one", async ({ reports: stored }) => {
  const sent: string[] = [];
  const one = async (runId: string) => {
    sent.push(runId);
    return {};
  };
  const reports = new StepReports({ one, many: async () => stored });
  const { signal } = new AbortController();
  await Promise.all(["run_1", "run_2"].map((id) => reports.add(id, { lease_token: "t", steps: [STEP] }, signal)));
  expect(sent).toEqual(["run_1", "run_2"]);
});
