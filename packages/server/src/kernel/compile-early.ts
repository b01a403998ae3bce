import { setFlagsFromString } from "node:v8";

/**
 * After how many calls of a function V8 compiles it with its optimizing compilers. The defaults of 400 and 3,000 are for programs that soon
 * end: most functions of a node run once for each request or execution.
 */
const MAGLEV_CALLS = 50;
const TURBOFAN_CALLS = 200;

/** Lets V8 optimize functions that are called a few hundred times, which takes a tenth of a node's processor time from it (decision 86). */
export function compileEarly(): void {
  setFlagsFromString(`--invocation-count-for-maglev=${MAGLEV_CALLS}`);
  setFlagsFromString(`--invocation-count-for-turbofan=${TURBOFAN_CALLS}`);
}
