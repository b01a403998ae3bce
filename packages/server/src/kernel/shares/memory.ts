import { totalmem } from "node:os";
import { constrainedMemory } from "node:process";
import { LIMITS } from "@tidemill/contract";

const MIB = 1024 * 1024;
/** The memory that a node takes without work, and that the engine always holds. */
const BASE_MIB = 200;
/** The maximum that a node takes by default. */
const MAX_DEFAULT_MIB = 2_048;
export const MIN_MEMORY_MIB = 384;
/** Two batches of the largest size must fit, those of two workspaces. */
const MIN_REQUEST_BYTES = 2 * LIMITS.batchBodyBytes;

/** The memory that a node takes by default: half of the container's or the machine's. MiB. */
export function defaultMemoryMib(): number {
  const containerBytes = constrainedMemory();
  const bytes = Math.min(totalmem(), containerBytes > 0 ? containerBytes : Number.POSITIVE_INFINITY);
  return Math.max(MIN_MEMORY_MIB, Math.min(MAX_DEFAULT_MIB, Math.floor(bytes / 2 / MIB)));
}

export interface MemoryShares {
  /** Memory for bodies that arrive, and for responses that are not yet taken. Bytes. */
  readonly requestBytes: number;
  /** Memory for the payloads of callbacks in flight. */
  readonly payloadCharacters: number;
}

/**
 * Divides a node's memory. A byte of a request takes about four bytes of memory: as received, as text, and in the statement that stores it.
 * A character of a payload takes about three bytes: as text, as bytes, and in the socket.
 */
export function divideMemory(memoryMib: number): MemoryShares {
  const eighth = Math.floor(((memoryMib - BASE_MIB) * MIB) / 8);
  return { requestBytes: Math.max(MIN_REQUEST_BYTES, eighth), payloadCharacters: eighth };
}
