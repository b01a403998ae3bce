import type { Attack } from "../attack.ts";
import { analyze, putLanes } from "../put-rows.ts";

const QUEUES = 100_000;

export const unservedQueues: Attack = {
  number: 14,
  name: "100,000 queues that nobody serves, with one job each",
  plan: "free",
  prepare: async ({ database, workspaceId }) => {
    await putLanes(database, { workspaceId, prefix: "unserved-", lanes: QUEUES, url: null });
    await analyze(database);
    return async () => {};
  },
};
