import type { Attack } from "../attack.ts";
import { repeat } from "../attacker.ts";
import { SILENT_ZONE } from "../name-server.ts";

const NAMES = 180;

export const silentNames: Attack = {
  number: 2,
  name: "180 host names under a name server that never answers",
  plan: "pro",
  prepare: async (attacker) => {
    await repeat(NAMES, 8, (index) =>
      attacker.must("POST", "/v1/queues", { name: `silent-${index}`, callback_url: `http://host-${index}.${SILENT_ZONE}/` }),
    );
    const job = { payload: {}, attempts: 100 };
    return () => repeat(NAMES, 8, (index) => attacker.send("POST", `/v1/queues/silent-${index}/jobs/batch`, [job, job, job]));
  },
};
