import type { Attack } from "../attack.ts";
import { HoldingHandler } from "../handlers.ts";
import { SecretPool } from "../secrets.ts";

const JOBS = 500;
const SECRETS = 500;
const SET = 100;
const BODY = JSON.stringify({ ok: true, text: "x".repeat(60_000) });

export const answersWithSecrets: Attack = {
  number: 5,
  name: "500 answers at once, each with another set of 100 secrets",
  plan: "pro",
  prepare: async (attacker) => {
    const secrets = await SecretPool.create(attacker, "HELD", SECRETS);
    const handler = await HoldingHandler.start();
    await attacker.must("POST", "/v1/queues", { name: "held", callback_url: handler.url, callback_timeout: 900 });
    const jobs = Array.from({ length: JOBS }, (_, index) => ({ payload: secrets.payload(index, SET), attempts: 1 }));
    await attacker.must("POST", "/v1/queues/held/jobs/batch", jobs);
    const held = await handler.untilHeld(JOBS);
    if (held < JOBS) process.stderr.write(`  only ${held} of ${JOBS} requests are held\n`);
    return async () => handler.answerAll(BODY);
  },
};
