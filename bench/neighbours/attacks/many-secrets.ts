import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";
import { startAnswering } from "../handlers.ts";
import { SecretPool } from "../secrets.ts";

const BATCHES = 5;
const JOBS = 1_000;
const SECRETS = 500;
const SET = 99;

export const manySecrets: Attack = {
  number: 7,
  name: "5,000 jobs with 99 secrets each",
  plan: "pro",
  prepare: async (attacker) => {
    const secrets = await SecretPool.create(attacker, "MANY", SECRETS);
    await attacker.must("POST", "/v1/queues", { name: "secret", callback_url: await startAnswering(200) });
    const batch = (index: number) => Array.from({ length: JOBS }, (_, job) => ({ payload: secrets.payload(index * JOBS + job, SET) }));
    return () => repeat(BATCHES, 2, (index) => attacker.send("POST", "/v1/queues/secret/jobs/batch", batch(index)));
  },
};
