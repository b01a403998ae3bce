import { Type } from "typebox";

/** The kinds of records that `GET /v1/live` names. Source: contract §13. */
export const RECORD_KINDS = [
  "jobs",
  "queues",
  "approvals",
  "schedules",
  "workflows",
  "runs",
  "workers",
  "secrets",
  "keys",
  "members",
  "webhooks",
  "deploys",
  "circuits",
] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

export const LiveQuery = Type.Object({}, { additionalProperties: false });

/** A stream of what changes in a workspace, as one text. */
export const LiveEvents = Type.String({
  title: "LiveEvents",
  contentMediaType: "text/event-stream",
  description:
    "Events: `changed`, at most once a second. Its data is JSON: `kinds` names the kinds of records that have changed. Later releases may add " +
    `events, and kinds to these: ${RECORD_KINDS.join(", ")}.`,
  examples: ['event: changed\ndata: {"kinds":["jobs","queues"]}\n\n'],
});

/** What a reader of `GET /v1/live` learns. */
export type LiveEvent =
  /** The stream is connected, for the first time or again. Anything may have changed before. */
  | { readonly type: "connected" }
  /** Records of these kinds have changed. Later releases may add kinds. */
  | { readonly type: "changed"; readonly kinds: readonly (RecordKind | (string & {}))[] };
