import type { Module } from "#http";
import { type Db, type EmitEvent, PeriodicLoop, type Random } from "#kernel";
import { foldGroupsAcrossWorkspaces, sweepGroupsAcrossWorkspaces } from "./groups-store.ts";
import { type DeadLetterRoutes, mountDeadLetters } from "./routes.ts";

export interface DeadLettersOptions extends DeadLetterRoutes {
  readonly housekeeping: Db;
  readonly emit: EmitEvent;
  readonly random: Random;
}

const FOLD_EVERY_MS = 5_000;
const HOUR_MS = 3_600_000;

/** The dead-letter queue: its routes, and the loops that keep its groups. */
export const createDeadLetters = ({ housekeeping, emit, random, ...routes }: DeadLettersOptions): Module => {
  const loop = (name: string, everyMs: number, pass: () => Promise<unknown>) => new PeriodicLoop({ name, everyMs, pass }, emit, random);
  return {
    routes: (api) => mountDeadLetters(api, routes),
    services: [
      loop("fold-dead-letters", FOLD_EVERY_MS, () => foldGroupsAcrossWorkspaces(housekeeping)),
      loop("sweep-dead-letter-groups", HOUR_MS, () => sweepGroupsAcrossWorkspaces(housekeeping)),
    ],
  };
};
