import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { StepReports } from "../src/worker/step-reports.ts";

const STEP = { key: "a", type: "run", status: "completed" } as const;

test("reports that are stored or refused leave nothing on the signal of their run", async () => {
  const { signal } = new AbortController();
  let isRefused = false;
  const one = async () => {
    if (isRefused) throw new Error("Refused.");
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
