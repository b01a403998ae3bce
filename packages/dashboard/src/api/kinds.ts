import type { RecordKind } from "@tidemill/contract";

/**
 * The kinds of records that `GET /v1/live` names. Query keys are `[workspaceId, kind, …]`. `settled` is for records that do not change by
 * themselves, or that no event names: usage, audit events, metrics.
 */
export type Kind = RecordKind | "settled";
