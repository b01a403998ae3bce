import { setTimeout as wait } from "node:timers/promises";
import { LIMITS } from "@tidemill/contract";
import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";

const BATCHES = 7;
const JOBS = 15;
const REQUESTS = 56;
/** All at once, most would wait for a connection to the database until they are refused. */
const PACE_MS = 200;

export const unreadReplies: Attack = {
  number: 3,
  name: "56 lists of 105 jobs of 1 MiB whose replies are never read",
  plan: "free",
  prepare: async (attacker) => {
    await attacker.must("POST", "/v1/queues", { name: "unread" });
    const payload = "x".repeat(LIMITS.payloadBytes - 2);
    const body = JSON.stringify(Array.from({ length: JOBS }, () => ({ payload })));
    await repeat(BATCHES, 1, () => attacker.must("POST", "/v1/queues/unread/jobs/batch", body));
    return async () => {
      for (let request = 0; request < REQUESTS; request += 1) {
        attacker.open("GET /v1/queues/unread/jobs?limit=100").pause();
        await wait(PACE_MS);
      }
    };
  },
};
