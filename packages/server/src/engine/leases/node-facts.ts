import { hostname } from "node:os";
import { memoryUsage } from "node:process";
import { type Config, defaultMemoryMib, type Uuid } from "#kernel";

const MIB = 1024 * 1024;

/** What a node writes about itself when it registers. */
export interface NodeFacts {
  /** The id of the process. It stays the same when the node continues under a new lease. */
  readonly process: Uuid;
  readonly host: string;
  readonly version: string;
  readonly maxMemoryBytes: number;
  readonly maxInFlight: number;
}

/** What a node writes at each renewal of its lease. */
export interface NodeLoad {
  readonly memoryBytes: number;
  readonly isDraining: boolean;
}

export const factsOfNode = (config: Config, process: Uuid, version: string): NodeFacts => ({
  process,
  host: hostname(),
  version,
  maxMemoryBytes: (config.memoryMib ?? defaultMemoryMib()) * MIB,
  maxInFlight: config.callbacksInFlight,
});

/** The resident memory of this process. Bytes. */
export const usedMemoryBytes = (): number => memoryUsage.rss();
