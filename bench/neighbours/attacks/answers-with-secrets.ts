import type { Attack } from "../attack.ts";
import { startHolding } from "../handlers.ts";
import { createSecrets, payloadOfSecrets } from "../secrets.ts";

const JOBS = 500;
const SECRETS = 500;
const SET = 100;
const BODY = JSON.stringify({ ok: true, text: "x".repeat(60_000) });

export const answersWithSecrets: Attack = {
  number: 5,
  name: "500 answers at once, each with another set of 100 secrets",
  plan: "pro",
  prepare: async (attacker) => {
    await createSecrets(attacker, SECRETS);
    await attacker.must("POST", "/v1/queues", { name: "held", callback_url: await startHolding(JOBS, BODY), callback_timeout: 900 });
    const jobs = Array.from({ length: JOBS }, (_, index) => ({ payload: payloadOfSecrets(index, SET, SECRETS), attempts: 1 }));
    return () => attacker.send("POST", "/v1/queues/held/jobs/batch", jobs);
  },
};
