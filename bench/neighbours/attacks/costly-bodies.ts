import { LIMITS } from "@tidemill/contract";
import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";

const REQUESTS = 48;
const AT_ONCE = 8;
const JOBS = 15;
const MEMBERS = 95_000;

export const costlyBodies: Attack = {
  number: 4,
  name: "batches of 16 MB of tiny arrays, or of 95,000 members with an idempotency key, eight at once",
  plan: "free",
  prepare: async (attacker) => {
    await attacker.must("POST", "/v1/queues", { name: "costly" });
    const arrays = `[${"[],".repeat(Math.floor(LIMITS.payloadBytes / 3) - 2)}[]]`;
    const members = JSON.stringify(Object.fromEntries(Array.from({ length: MEMBERS }, (_, index) => [`m${index}`, 0])));
    const batch = (job: (index: number) => string) => `[${Array.from({ length: JOBS }, (_, index) => job(index)).join(",")}]`;
    const ofArrays = batch(() => `{"payload":${arrays}}`);
    const ofMembers = (request: number) => batch((index) => `{"payload":${members},"idempotencyKey":"key-${request}-${index}"}`);
    return () =>
      repeat(REQUESTS, AT_ONCE, (request) =>
        attacker.send("POST", "/v1/queues/costly/jobs/batch", request % 2 === 0 ? ofArrays : ofMembers(request)),
      );
  },
};
