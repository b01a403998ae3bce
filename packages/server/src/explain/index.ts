import type { Module } from "#http";
import type { Tenants } from "#kernel";
import { mountExplain } from "./routes.ts";

export { explainJob } from "./explain.ts";

/** Explains why a job is not running. */
export const createExplain = ({ tenants }: { readonly tenants: Tenants }): Module => ({ routes: (api) => mountExplain(api, tenants) });
