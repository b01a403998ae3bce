import type { Attack } from "../attack.ts";

const CONNECTIONS = 600;

export const idleConnections: Attack = {
  number: 11,
  name: "600 idle connections without a key, 640 file descriptors",
  plan: "free",
  // The node itself needs about 50.
  fileLimit: 640,
  prepare: async (attacker) => async () => {
    for (let connection = 0; connection < CONNECTIONS; connection += 1) attacker.connect();
  },
};
