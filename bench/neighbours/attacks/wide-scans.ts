import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";
import { analyze, putDeadLetters } from "../put-rows.ts";

const JOBS = 500_000;
const REQUESTS = 290;
const AT_ONCE = 24;

export const wideScans: Attack = {
  number: 8,
  name: "filters without an index over 500,000 dead letters, with a read key",
  plan: "pro",
  prepare: async (attacker) => {
    await attacker.must("POST", "/v1/queues", { name: "dead" });
    const { key } = await attacker.must<{ key: string }>("POST", "/v1/keys", { name: "reader", role: "read" });
    await putDeadLetters(attacker.database, attacker.workspaceId, "dead", JOBS);
    await analyze(attacker.database);
    const paths = ["/v1/dlq?error=NODE_LOST", "/v1/dlq?tag=missing", "/v1/queues/dead/jobs?state=failed&tag=missing"];
    return () => repeat(REQUESTS, AT_ONCE, (index) => attacker.send("GET", paths[index % paths.length] ?? "", undefined, key));
  },
};
