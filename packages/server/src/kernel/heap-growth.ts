import { setFlagsFromString } from "node:v8";

/** A node that may use this much memory stays far below it, however its heap grows. MiB. */
const AMPLE_MIB = 2_048;
/**
 * How much may be allocated after a garbage collection before the next one begins, as a percentage of what was left. V8 allows up to 300 %.
 */
const GROWTH_PERCENT = 50;

/**
 * Lets V8 collect garbage earlier on a node that may use little memory. A heap limit, which V8 accepts only when the process starts, would
 * have the same effect, but V8 would end the process at the limit.
 */
export function limitHeapGrowth(memoryMib: number): void {
  if (memoryMib < AMPLE_MIB) setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
