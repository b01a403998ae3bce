import { LIMITS } from "@tidemill/contract";
import type { Attack } from "../attack.ts";

const REQUESTS = 58;
const STALLED_AT = LIMITS.batchBodyBytes - 2 ** 20;

export const stalledBodies: Attack = {
  number: 10,
  name: "58 bodies that stall at 15 of 16 MiB",
  plan: "free",
  prepare: async (attacker) => {
    await attacker.must("POST", "/v1/queues", { name: "stalled" });
    const part = Buffer.alloc(STALLED_AT, "x");
    const headers = `Content-Type: application/json\r\nContent-Length: ${LIMITS.batchBodyBytes}\r\n`;
    return async () => {
      for (let request = 0; request < REQUESTS; request += 1) attacker.open("POST /v1/queues/stalled/jobs/batch", headers).write(part);
    };
  },
};
