/** Holds the event loop, and all that runs in this process. */
export const stall = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
