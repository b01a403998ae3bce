import { totalmem } from "node:os";
import { constrainedMemory } from "node:process";
import { LIMITS } from "@tidemill/contract";

const MIB = 1024 * 1024;
/** What a node without work takes, and what the engine holds whatever workspaces do. */
const BASE_MIB = 200;
/** What a node takes at most unless it is told otherwise. */
const MAX_DEFAULT_MIB = 2_048;
export const MIN_MEMORY_MIB = 384;
/** Two batches of the largest size must fit, those of two workspaces. */
const MIN_REQUEST_BYTES = 2 * LIMITS.batchBodyBytes;

/** How much memory a node takes unless it is told otherwise: half of the container's or the machine's. MiB. */
export function defaultMemoryMib(): number {
  const containerBytes = constrainedMemory();
  const bytes = Math.min(totalmem(), containerBytes > 0 ? containerBytes : Number.POSITIVE_INFINITY);
  return Math.max(MIN_MEMORY_MIB, Math.min(MAX_DEFAULT_MIB, Math.floor(bytes / 2 / MIB)));
}

export interface MemoryShares {
  /** Of bodies that arrive, and of responses that are not yet taken. Bytes. */
  readonly requestBytes: number;
  /** Of the payloads of callbacks in flight. */
  readonly payloadCharacters: number;
}

/**
 * Divides a node's memory. A byte of a request takes about four of memory: as it came, as text, and in the statement that stores it. A
 * character of a payload takes about three: as text, as bytes, and in the socket.
 */
export function divideMemory(memoryMib: number): MemoryShares {
  const eighth = Math.floor(((memoryMib - BASE_MIB) * MIB) / 8);
  return { requestBytes: Math.max(MIN_REQUEST_BYTES, eighth), payloadCharacters: eighth };
}
