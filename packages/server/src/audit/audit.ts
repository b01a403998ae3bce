import type { Module } from "#http";
import { type AuditRoutes, mountAudit } from "./routes.ts";

/** The module for reading the audit log. */
export const createAudit = (routes: AuditRoutes): Module => ({ routes: (api) => mountAudit(api, routes) });
