import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";

const REQUESTS = 290;
const AT_ONCE = 16;
const JOBS = 1_000;
const PAYLOAD_CHARACTERS = 12_000;

export const batches: Attack = {
  number: 9,
  name: "batches of 12 MB as fast as they go",
  plan: "pro",
  prepare: async (attacker) => {
    await attacker.must("POST", "/v1/queues", { name: "busy" });
    const job = { payload: "x".repeat(PAYLOAD_CHARACTERS) };
    const body = JSON.stringify(Array.from({ length: JOBS }, () => job));
    return () => repeat(REQUESTS, AT_ONCE, () => attacker.send("POST", "/v1/queues/busy/jobs/batch", body));
  },
};
