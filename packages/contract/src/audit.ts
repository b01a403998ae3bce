import { type Static, Type } from "typebox";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";

/** Every type of audit event. Source: contract §10. */
export const AUDIT_EVENT_TYPES = [
  "workspace.created",
  "workspace.updated",
  "workspace.deleted",
  "key.created",
  "key.revoked",
  "member.added",
  "member.updated",
  "member.removed",
  "invitation.created",
  "invitation.revoked",
  "invitation.accepted",
  "queue.created",
  "queue.updated",
  "queue.deleted",
  "secret.created",
  "secret.updated",
  "secret.rotated",
  "secret.deleted",
  "secret.accessed",
  "secret.refused",
  "secret.unreadable",
  "schedule.created",
  "schedule.updated",
  "schedule.paused",
  "schedule.resumed",
  "schedule.triggered",
  "schedule.skipped",
  "schedule.deleted",
  "job.approved",
  "job.rejected",
  "job.replayed",
  "approval.overruled",
  "dlq.retried",
  "dlq.purged",
  "operation.started",
  "operation.completed",
  "operation.cancelled",
  "workflow.created",
  "workflow.updated",
  "workflow.deleted",
  "run.cancelled",
  "run.retried",
  "signal.completed",
  "workflow.hook.errored",
  "workflow.hook.slow",
  "deploy.marked",
  "webhook.created",
  "webhook.updated",
  "webhook.deleted",
  "webhook.disabled",
  "webhook.secret_rotated",
  "webhook.tested",
  "webhook.replayed",
] as const;
export type AuditEventType = (typeof AUDIT_EVENT_TYPES)[number];

/** The types of resources that audit events are about. */
export const AUDIT_RESOURCE_TYPES = [
  "workspace",
  "key",
  "member",
  "invitation",
  "secret",
  "queue",
  "job",
  "schedule",
  "dlq",
  "operation",
  "workflow",
  "run",
  "signal",
  "deploy",
  "webhook",
] as const;
export type AuditResourceType = (typeof AUDIT_RESOURCE_TYPES)[number];

const HASH = "^[0-9a-f]{64}$";

/** An audit event. Later releases may add types to those above. Source: specification, Audit event; contract §10. */
export const AuditEvent = Type.Object(
  {
    id: Type.String({ pattern: "^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$", description: "Id of the event." }),
    event_type: Type.String({
      description: `What happened: the resource and a verb in the past tense. Later releases may add to these: ${AUDIT_EVENT_TYPES.join(", ")}.`,
    }),
    occurred_at: Moment("When it happened."),
    actor_id: Type.String({ description: "Who did it: the id of a key or a person, `operator`, or `system`." }),
    resource_type: Type.String({
      description: `What it happened to. Later releases may add to these: ${AUDIT_RESOURCE_TYPES.join(", ")}.`,
    }),
    resource_id: Nullable(Type.String(), {
      description: "The resource's id, or its name if it has no id. Null when there are several, which `input` lists.",
    }),
    input: Nullable(Type.Record(Type.String(), Type.Unknown()), {
      description: "What was requested, without secrets; its fields depend on the type.",
    }),
    output: Nullable(Type.Record(Type.String(), Type.Unknown()), {
      description: "The outcome, without secrets; its fields depend on the type.",
    }),
    seq: Type.Integer({ description: "Its place in the workspace's chain of events, from 1, without gaps." }),
    hash: Type.String({ pattern: HASH, description: "SHA-256 of `canonical` in UTF-8. Hexadecimal." }),
    previous: Type.String({ pattern: HASH, description: "The `hash` of the event with the `seq` before; 64 zeros for the first one." }),
    canonical: Type.String({
      description:
        "The text that `hash` covers: 13 fields, each as its length in bytes, a colon and its text, or as a dash for null. They are " +
        "`previous`, when the event before expires, the workspace's UUID, `seq`, the event's UUID, `event_type`, `occurred_at`, `actor_id`, " +
        "`resource_type`, `resource_id`, `input` and `output` as JSON texts, and when the event expires.",
    }),
  },
  {
    title: "AuditEvent",
    description: "Something that was done in the workspace, and who did it. Events are never changed.",
    examples: [
      {
        id: "aud_01kajv3k4ve6nsd9z5kgtzx0rw",
        event_type: "queue.updated",
        occurred_at: "2026-11-21T09:30:00.000Z",
        actor_id: "key_01kajv2m9qf1h8s0w6r3n5d7xe",
        resource_type: "queue",
        resource_id: "emails",
        input: { paused: true },
        output: { changed: ["paused"] },
        seq: 1,
        hash: "b3e606e6ef5a8acbe31214f86f0cfd91921fc7f2639ec08491f3a04284109294",
        previous: "0000000000000000000000000000000000000000000000000000000000000000",
        canonical:
          '64:00000000000000000000000000000000000000000000000000000000000000009:-infinity36:019aa5b1-8d24-7b2f-9c0d-1f2a3b4c5d6e1:136:019aa5b1-cc9b-71ab-96a7-e59c35fe831c13:queue.updated27:2026-11-21T09:30:00.000000Z30:key_01kajv2m9qf1h8s0w6r3n5d7xe5:queue6:emails15:{"paused":true}22:{"changed":["paused"]}27:2026-12-21T09:30:00.000000Z',
      },
      {
        id: "aud_01kajv3m2cf7ya8p0t5w9h4znq",
        event_type: "secret.accessed",
        occurred_at: "2026-11-21T09:30:02.000Z",
        actor_id: "system",
        resource_type: "secret",
        resource_id: null,
        input: {
          queue: "emails",
          host: "api.example.com",
          attempts: { 1: ["job_01kajv3g7tf4aesx2m8q5d1byk"] },
          secrets: ["MAIL_KEY", "MAIL_USER"],
        },
        output: null,
        seq: 2,
        hash: "a5c9ffaeef2aa7f332d0a7eff8b7ced4556e8208236f8ed182e0640bc7d5648e",
        previous: "b3e606e6ef5a8acbe31214f86f0cfd91921fc7f2639ec08491f3a04284109294",
        canonical:
          '64:b3e606e6ef5a8acbe31214f86f0cfd91921fc7f2639ec08491f3a0428410929427:2026-12-21T09:30:00.000000Z36:019aa5b1-8d24-7b2f-9c0d-1f2a3b4c5d6e1:236:019aa5b1-d04c-79fc-a458-1a2f13127eb715:secret.accessed27:2026-11-21T09:30:02.000000Z6:system6:secret-130:{"queue":"emails","host":"api.example.com","attempts":{"1":["job_01kajv3g7tf4aesx2m8q5d1byk"]},"secrets":["MAIL_KEY","MAIL_USER"]}-27:2026-12-21T09:30:02.000000Z',
      },
    ],
  },
);
export type AuditEvent = Static<typeof AuditEvent>;

export const ListAuditEvents = Type.Object(
  {
    ...PageQuery,
    cursor: Cursor("AuditCursor", "aud_2s"),
    event_type: Type.Optional(
      Type.String({
        title: "AuditEventTypeFilter",
        format: "audit-event-types",
        description: "Only events of this type, or of several, separated by commas.",
        examples: ["queue.created,queue.deleted"],
      }),
    ),
    resource_type: Type.Optional(
      Type.String({
        title: "AuditResourceTypeFilter",
        format: "audit-resource-types",
        description: "Only events about this type of resource, or about several, separated by commas.",
        examples: ["queue"],
      }),
    ),
    actor_id: Type.Optional(
      Type.String({
        title: "AuditActorFilter",
        format: "actors",
        description: "Only events of this actor, or of several, separated by commas: ids of keys and people, `operator`, `system`.",
        examples: ["key_01kajv2m9qf1h8s0w6r3n5d7xe"],
      }),
    ),
    from: Type.Optional(
      Type.String({
        title: "AuditFrom",
        format: "date-time",
        description: "Only events at this moment or later.",
        examples: ["2026-11-01T00:00:00Z"],
      }),
    ),
    to: Type.Optional(
      Type.String({
        title: "AuditTo",
        format: "date-time",
        description: "Only events before this moment.",
        examples: ["2026-12-01T00:00:00Z"],
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListAuditEvents = Static<typeof ListAuditEvents>;
