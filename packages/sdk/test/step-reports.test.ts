import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { StepReports } from "../src/worker/step-reports.ts";
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
  let store = () => {};
  const one = () => new Promise<object>((resolve) => (store = () => resolve({})));
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
    store();
    await postponed;
  }
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
