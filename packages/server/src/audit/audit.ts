import type { Module } from "#http";
import { type AuditRoutes, mountAudit } from "./routes.ts";

/** The audit log, as its workspace reads it. */
export const createAudit = (routes: AuditRoutes): Module => ({ routes: (api) => mountAudit(api, routes) });
