import type { Module } from "#http";
import type { Config, Random } from "#kernel";
import { mountPages } from "./routes.ts";

export interface DashboardOptions {
  readonly config: Pick<Config, "dashboard">;
  readonly random: Random;
}

/** Serves the pages of the dashboard, unless it is off. */
export function createDashboard({ config, random }: DashboardOptions): Module {
  return config.dashboard === "off" ? {} : { routes: (api) => mountPages(api, random) };
}
