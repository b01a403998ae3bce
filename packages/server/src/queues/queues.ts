import type { Module } from "#http";
import { mountQueues, type QueueRoutes } from "./routes.ts";

/** Queues: their settings, counts and circuits. */
export const createQueues = (routes: QueueRoutes): Module => ({ routes: (api) => mountQueues(api, routes) });
