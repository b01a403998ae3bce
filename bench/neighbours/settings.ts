import { SETTINGS } from "../../packages/server/src/kernel/index.ts";
import { OPERATOR_TOKEN } from "./operator.ts";

const settings = Object.values(SETTINGS).map(({ names, fallback }) => ({
  names: names as readonly string[],
  fallback: fallback as unknown,
}));
const find = (name: string) => settings.find(({ names }) => names.includes(name));

/** A node in production mode that may call handlers on loopback, and the host by which the neighbour's handler has a name. */
export function nodeSettings(namePort: number): { env: Record<string, string>; namedHost: string } {
  const ownNames = find("TIDEMILL_DNS_SERVERS") !== undefined;
  return {
    env: {
      TIDEMILL_ENV: "production",
      TIDEMILL_ADMIN_TOKEN: OPERATOR_TOKEN,
      TIDEMILL_ALLOW_ADDRESSES: "127.0.0.0/8,::1",
      TIDEMILL_DRAIN_SECONDS: "0",
      // The default, which other scenarios raise.
      TIDEMILL_ENQUEUE_BACKLOG: "",
      ...(ownNames && { TIDEMILL_DNS_SERVERS: `127.0.0.1:${namePort}` }),
    },
    namedHost: ownNames ? "handler.neighbour.test" : "localhost",
  };
}

/** How much memory a node may use, in MiB. Null when it has no such limit. */
export function memoryLimitMib(): number | null {
  const setting = find("TIDEMILL_MEMORY_MB");
  const value = Number(process.env.TIDEMILL_MEMORY_MB ?? setting?.fallback ?? Number.NaN);
  return setting && value > 0 ? value : null;
}
