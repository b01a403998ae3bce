import { setFlagsFromString } from "node:v8";

/**
 * Lets V8 count buffers with its heap, which may grow with what it holds. Otherwise it marks the whole heap each time that there are 64 MiB more of
 * buffers than there were: a few large bodies at once, also if all of them are freed. The end of each marking holds the event loop for 10 to 50 ms.
 */
export const countBuffersWithHeap = (): void => setFlagsFromString("--external-memory-accounted-in-global-limit");
