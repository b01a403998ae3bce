import type { Attack } from "../attack.ts";
import { startHanging } from "../handlers.ts";
import { analyze, putLanes, resumeLanes } from "../put-rows.ts";

const QUEUES = 4_200;
const PREFIX = "hanging-";

export const hangingQueues: Attack = {
  number: 6,
  name: "4,200 queues with one hanging job each",
  plan: "pro",
  prepare: async ({ database, workspaceId }) => {
    await putLanes(database, { workspaceId, prefix: PREFIX, lanes: QUEUES, url: await startHanging(), timeoutSeconds: 900, paused: true });
    await analyze(database);
    return () => resumeLanes(database, workspaceId, PREFIX);
  },
};
