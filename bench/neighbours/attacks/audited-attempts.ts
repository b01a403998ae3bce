import type { Attack } from "../attack.ts";
import { startAnswering } from "../handlers.ts";
import { SecretPool } from "../secrets.ts";

const JOBS = 100;
const SECRETS = 100;

export const auditedAttempts: Attack = {
  number: 12,
  name: "100 jobs with 100 secrets, each tried 100 times without a pause",
  plan: "pro",
  prepare: async (attacker) => {
    const secrets = await SecretPool.create(attacker, "AUDITED", SECRETS);
    // A 4xx shows that the handler works, and so opens no circuit.
    await attacker.must("POST", "/v1/queues", { name: "audited", callback_url: await startAnswering(400) });
    const job = { payload: secrets.payload(0, SECRETS), attempts: 100, backoff: { type: "exponential", delay: 0 } };
    return () =>
      attacker.send(
        "POST",
        "/v1/queues/audited/jobs/batch",
        Array.from({ length: JOBS }, () => job),
      );
  },
};
