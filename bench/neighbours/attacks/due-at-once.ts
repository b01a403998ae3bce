import { setTimeout as wait } from "node:timers/promises";
import type { Attack } from "../attack.ts";
import { analyze, putDelayed } from "../put-rows.ts";

const JOBS = 300_000;
/** How long the preparation may take. */
const PREPARE_MS = 30_000;
/** The neighbour's measurement begins this long before. */
const BEFORE_MS = 1_000;

export const dueAtOnce: Attack = {
  number: 13,
  name: "300,000 jobs due in one moment",
  plan: "pro",
  timed: true,
  prepare: async (attacker) => {
    const { database, workspaceId } = attacker;
    await attacker.must("POST", "/v1/queues", { name: "due" });
    const dueMs = Date.now() + PREPARE_MS;
    await putDelayed(database, workspaceId, "due", JOBS, dueMs);
    await analyze(database);
    await wait(Math.max(0, dueMs - BEFORE_MS - Date.now()));
    return async () => {};
  },
};
