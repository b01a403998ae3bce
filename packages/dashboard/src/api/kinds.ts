import type { RecordKind } from "@tidemill/contract";

/**
 * The kinds of records that `GET /v1/live` names. Query keys are `[workspaceId, kind, …]`. `settled` does not change by itself, or no
 * event names it: usage, audit events, metrics.
 */
export type Kind = RecordKind | "settled";
