import type { Module } from "#http";
import { mountStatus, type StatusRoutes } from "./routes.ts";

/** A workspace's health, counts and quota. */
export const createStatus = (routes: StatusRoutes): Module => ({ routes: (api) => mountStatus(api, routes) });
