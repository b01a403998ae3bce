import { defaultMemoryMib } from "../../packages/server/src/kernel/index.ts";
import { OPERATOR_TOKEN } from "./operator.ts";

/** The host by which the neighbour's handler has a name. */
export const NAMED_HOST = "handler.neighbour.test";

/** A node in production mode that may call handlers on loopback, and looks up names at this port. */
export const nodeSettings = (namePort: number): Record<string, string> => ({
  TIDEMILL_ENV: "production",
  TIDEMILL_ADMIN_TOKEN: OPERATOR_TOKEN,
  TIDEMILL_ALLOW_ADDRESSES: "127.0.0.0/8,::1",
  TIDEMILL_DRAIN_SECONDS: "0",
  // The default, which other scenarios raise.
  TIDEMILL_ENQUEUE_BACKLOG: "",
  TIDEMILL_DNS_SERVERS: `127.0.0.1:${namePort}`,
});

/** How much memory a node may use, in MiB. */
export const memoryLimitMib = (): number => Number(process.env.TIDEMILL_MEMORY_MB) || defaultMemoryMib();
