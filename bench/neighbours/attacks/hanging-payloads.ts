import { LIMITS } from "@tidemill/contract";
import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";
import { startHanging } from "../handlers.ts";

const REQUESTS = 18;
const JOBS = 15;

export const hangingPayloads: Attack = {
  number: 1,
  name: "270 jobs of 1 MiB to a handler that hangs",
  plan: "pro",
  prepare: async (attacker) => {
    const queue = { name: "large", callback_url: await startHanging(), callback_timeout: 900, paused: true };
    await attacker.must("POST", "/v1/queues", queue);
    const payload = "x".repeat(LIMITS.payloadBytes - 2);
    const body = JSON.stringify(Array.from({ length: JOBS }, () => ({ payload })));
    await repeat(REQUESTS, 1, () => attacker.must("POST", "/v1/queues/large/jobs/batch", body));
    return () => attacker.send("PATCH", "/v1/queues/large", { paused: false });
  },
};
