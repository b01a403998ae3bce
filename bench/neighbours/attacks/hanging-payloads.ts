import { LIMITS } from "@tidemill/contract";
import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";
import { startHanging } from "../handlers.ts";

const REQUESTS = 18;
const AT_ONCE = 6;
const JOBS = 15;

export const hangingPayloads: Attack = {
  number: 1,
  name: "270 jobs of 1 MiB to a handler that hangs",
  plan: "pro",
  prepare: async (attacker) => {
    await attacker.must("POST", "/v1/queues", { name: "large", callback_url: await startHanging(), callback_timeout: 900 });
    const payload = "x".repeat(LIMITS.payloadBytes - 2);
    const body = JSON.stringify(Array.from({ length: JOBS }, () => ({ payload })));
    return () => repeat(REQUESTS, AT_ONCE, () => attacker.send("POST", "/v1/queues/large/jobs/batch", body));
  },
};
