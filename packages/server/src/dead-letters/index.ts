import type { Module } from "#http";
import { type DeadLetterRoutes, mountDeadLetters } from "./routes.ts";

/** The dead-letter queue. */
export const createDeadLetters = (routes: DeadLetterRoutes): Module => ({ routes: (api) => mountDeadLetters(api, routes) });
