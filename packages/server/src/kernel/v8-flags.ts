import { setFlagsFromString } from "node:v8";

/** A node that may use this much memory stays far below it, however its heap grows. MiB. */
const AMPLE_MIB = 2_048;
/**
 * How much may be allocated after a garbage collection before the next one begins, as a percentage of what was left. V8 allows up to 300 %.
 */
const GROWTH_PERCENT = 50;
/**
 * After how many calls of a function V8's two optimizing compilers compile it. It would wait for 400 and 3,000, but most functions of a node
 * run once for each request or execution.
 */
const CALLS = { maglev: 50, turbofan: 200 };

/**
 * Sets V8's flags for the memory that a node may use. With little, V8 collects garbage earlier. A heap limit, which V8 accepts only when the
 * process starts, would have the same effect, but V8 would end the process at the limit. With more, V8 optimizes functions earlier: their
 * code takes some 30 MiB, and a node that has just started needs less processor time (decision 86).
 */
export function setV8Flags(memoryMib: number): void {
  if (memoryMib < AMPLE_MIB) setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  else for (const [compiler, calls] of Object.entries(CALLS)) setFlagsFromString(`--invocation-count-for-${compiler}=${calls}`);
}
