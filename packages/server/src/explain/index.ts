import type { Module } from "#http";
import { type ExplainOptions, mountExplain } from "./routes.ts";

export { explainJob } from "./explain.ts";

/** Explains why a job or a run is not running. */
export const createExplain = (options: ExplainOptions): Module => ({ routes: (api) => mountExplain(api, options) });
