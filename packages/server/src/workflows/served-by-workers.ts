import type { Deliverer } from "#engine";

/** Nodes do not execute runs and hooks: their lanes are served by workers. */
export const servedByWorkers: Deliverer = {
  start: () => ({ result: Promise.resolve({ kind: "withdrawn" }), abort: () => {} }),
  sweep: () => {},
};
