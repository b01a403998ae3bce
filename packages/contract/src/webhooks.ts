import { type Static, Type } from "typebox";
import { CallbackHeaders, CallbackUrl } from "./callback-settings.ts";
import { LastError } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { NAME } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";

/** Every type of event that a webhook can have. Source: contract §14. */
export const WEBHOOK_EVENTS = [
  "job.completed",
  "job.failed",
  "approval.requested",
  "approval.decided",
  "circuit.opened",
  "circuit.closed",
  "schedule.skipped",
  "quota.threshold",
  "run.completed",
  "run.failed",
  "run.cancelled",
  "run.waiting_for_code",
  "workflow.hook.errored",
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The type of the event that `POST /v1/webhooks/:name/test` sends. */
export const TEST_EVENT = "webhook.test";

export const WebhookName = Type.String({
  title: "WebhookName",
  pattern: NAME,
  description: "Name of a webhook, unique in the workspace.",
  examples: ["alerts"],
});

const WebhookEventType = Type.Enum([...WEBHOOK_EVENTS], {
  title: "WebhookEvent",
  description: "A type of event.",
});

const events = Type.Array(WebhookEventType, {
  minItems: 1,
  maxItems: WEBHOOK_EVENTS.length,
  uniqueItems: true,
  description: "The types of events that it gets.",
  examples: [["job.failed", "run.failed"]],
});

export const CreateWebhook = Type.Object(
  {
    name: WebhookName,
    url: CallbackUrl,
    events,
    headers: Type.Optional(CallbackHeaders),
  },
  {
    title: "CreateWebhook",
    description: "A webhook to create.",
    additionalProperties: false,
    examples: [{ name: "alerts", url: "https://example.com/tidemill-events", events: ["job.failed", "run.failed"] }],
  },
);
export type CreateWebhook = Static<typeof CreateWebhook>;

export const PatchWebhook = Type.Object(
  {
    url: Type.Optional(CallbackUrl),
    events: Type.Optional(events),
    headers: Type.Optional(CallbackHeaders),
    enabled: Type.Optional(
      Type.Boolean({ description: "`false` switches it off, which ends its pending deliveries; `true` switches it on again." }),
    ),
    rotate_secret: Type.Optional(
      Type.Boolean({
        description: "Generates a new secret, which only this response contains. For 24 hours, deliveries are signed with both.",
      }),
    ),
  },
  {
    title: "PatchWebhook",
    description: "Changes to a webhook. Fields that are left out stay as they are.",
    additionalProperties: false,
    examples: [{ events: ["job.failed"], rotate_secret: true }],
  },
);
export type PatchWebhook = Static<typeof PatchWebhook>;

const webhookFields = {
  name: WebhookName,
  url: Type.String({ description: "Where events are sent, with its templates." }),
  events: Type.Array(Type.String(), { description: "The types of events that it gets." }),
  headers: Type.Record(Type.String(), Type.String(), {
    description: "Headers sent with each event, with their templates. Keys with the role `read` see `[hidden]` instead of each value.",
  }),
  enabled: Type.Boolean({ description: "Whether it gets events." }),
  disabled: Nullable(
    Type.Object(
      {
        reason: Type.Enum(["failing", "request"], {
          title: "WebhookDisabledReason",
          description: "`failing`: no delivery succeeded for five days. `request`: a caller switched it off.",
        }),
        at: Moment("When it was switched off."),
      },
      { title: "WebhookDisabled", description: "Why a webhook is switched off." },
    ),
    { description: "Why it is switched off; null while it is on." },
  ),
  stopped: Nullable(Type.Literal("PLAN_REQUIRED"), {
    description: "`PLAN_REQUIRED` when the plan no longer has webhooks: nothing is sent. Otherwise null.",
  }),
  failing_since: Nullable(Moment("RFC 3339 in UTC."), {
    description: "When the first attempt failed since the last success; null when none did. Five days later it is switched off.",
  }),
  last_success_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When a delivery last succeeded; null before the first." }),
  previous_secret_until: Nullable(Moment("RFC 3339 in UTC."), {
    description: "Until when deliveries are also signed with the secret from before the last rotation; null when they are not.",
  }),
  created_at: Moment("When it was created."),
  updated_at: Moment("When its settings last changed."),
};

const webhookExample = {
  name: "alerts",
  url: "https://example.com/tidemill-events",
  events: ["job.failed", "run.failed"],
  headers: {},
  enabled: true,
  disabled: null,
  stopped: null,
  failing_since: null,
  last_success_at: "2026-11-21T09:30:00.000Z",
  previous_secret_until: null,
  created_at: "2026-11-21T09:30:00.000Z",
  updated_at: "2026-11-21T09:30:00.000Z",
};

export const Webhook = Type.Object(webhookFields, {
  title: "Webhook",
  description: "An endpoint that gets events of the workspace.",
  examples: [webhookExample],
});
export type Webhook = Static<typeof Webhook>;

export const WebhookWithSecret = Type.Object(
  {
    ...webhookFields,
    secret: Type.Optional(
      Type.String({
        pattern: "^whsec_[A-Za-z0-9+/]{43}=$",
        description: "The secret that deliveries are signed with. Only the response to the request that generated it contains it.",
      }),
    ),
  },
  {
    title: "WebhookWithSecret",
    description: "A webhook, with its secret when this request generated one.",
    examples: [{ ...webhookExample, secret: "whsec_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs=" }],
  },
);
export type WebhookWithSecret = Static<typeof WebhookWithSecret>;

export const DELIVERY_STATES = ["pending", "delivered", "failed", "cancelled"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

const DeliveryId = Type.String({
  title: "DeliveryId",
  pattern: "^whd_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of a delivery.",
  examples: ["whd_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

export const DeliveryAttempt = Type.Object(
  {
    attempt: Type.Integer({ description: "Number of the attempt, from 1." }),
    started_at: Moment("When the attempt started."),
    duration_ms: Type.Number({ description: "How long the attempt took. Milliseconds." }),
    status: Nullable(Type.Integer(), { description: "HTTP status of the response; null when there was none." }),
    error: Nullable(LastError, { description: "Why the attempt did not succeed; null when it did." }),
  },
  { title: "DeliveryAttempt", description: "One attempt of a delivery." },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

const deliveryFields = {
  id: DeliveryId,
  event_id: Type.String({
    pattern: "^whk_[0-7][0-9a-hjkmnp-tv-z]{25}$",
    description: "Id of the event: the `id` of the body, and the header `webhook-id`. A replay has the same.",
  }),
  type: Type.String({ description: "The type of the event." }),
  state: Type.Enum([...DELIVERY_STATES], {
    title: "DeliveryState",
    description:
      "`pending`: it is tried, for three days at most. `delivered`: a response had a status from 200 to 299. `failed`: it is not tried again. " +
      "`cancelled`: the webhook was switched off.",
  }),
  requested: Type.Boolean({ description: "Whether a caller requested it: a test, or a replay of an earlier delivery." }),
  attempts: Type.Integer({ description: "Attempts that have ended." }),
  next_attempt_at: Nullable(Moment("RFC 3339 in UTC."), {
    description: "When the next attempt is due; null when none is, or one is under way or due now.",
  }),
  response_status: Nullable(Type.Integer(), { description: "HTTP status of the last response; null when there was none." }),
  response_body: Nullable(Type.String(), {
    description: `The beginning of the last response's body, at most ${LIMITS.webhookResponseCharacters} characters, without secrets; null when it had none.`,
  }),
  last_error: Nullable(LastError, { description: "Why the last attempt did not succeed; null when it did." }),
  attempts_log: Type.Array(DeliveryAttempt, {
    description: `The attempts that have ended, oldest first. The last ${LIMITS.webhookAttemptsLogged} are kept.`,
  }),
  created_at: Moment("When the delivery was made."),
  ended_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When it ended; null while it is pending." }),
};

const deliveryExample = {
  id: "whd_01kajv3k4ve6nsd9z5kgtzx0rw",
  event_id: "whk_01kajv3k4we6nsd9z5kgtzx0rw",
  type: "job.failed",
  state: "delivered",
  requested: false,
  attempts: 1,
  next_attempt_at: null,
  response_status: 204,
  response_body: null,
  last_error: null,
  attempts_log: [{ attempt: 1, started_at: "2026-11-21T09:30:00.412Z", duration_ms: 31.5, status: 204, error: null }],
  created_at: "2026-11-21T09:30:00.400Z",
  ended_at: "2026-11-21T09:30:00.444Z",
};

export const Delivery = Type.Object(deliveryFields, {
  title: "Delivery",
  description: "A delivery of one event to one webhook.",
  examples: [deliveryExample],
});
export type Delivery = Static<typeof Delivery>;

/** The body of a delivery. Source: contract §14. */
export const WebhookBody = Type.Object(
  {
    id: Type.String({ description: "Id of the event. It is the same in all deliveries of it." }),
    type: Type.String({ description: "What happened." }),
    timestamp: Moment("When it happened."),
    data: Type.Unknown({ description: "What it happened to; docs/webhooks.md shows the data of each type." }),
  },
  { title: "WebhookBody", description: "An event, as webhooks get it." },
);
export type WebhookBody = Static<typeof WebhookBody>;

export const DeliveryWithPayload = Type.Object(
  { ...deliveryFields, payload: WebhookBody },
  {
    title: "DeliveryWithPayload",
    description: "A delivery, with the event that it sends.",
    examples: [
      {
        ...deliveryExample,
        payload: {
          id: "whk_01kajv3k4we6nsd9z5kgtzx0rw",
          type: "job.failed",
          timestamp: "2026-11-21T09:30:00.388Z",
          data: { id: "job_01kajv3k4ve6nsd9z5kgtzx0rw", queue: "emails", state: "failed" },
        },
      },
    ],
  },
);
export type DeliveryWithPayload = Static<typeof DeliveryWithPayload>;

export const ListWebhooks = Type.Object(
  { ...PageQuery, cursor: Cursor("WebhookCursor", "Vt3oKq0cR1mX7yBz4nE2Sw") },
  { additionalProperties: false },
);
export type ListWebhooks = Static<typeof ListWebhooks>;

export const ListDeliveries = Type.Object(
  {
    ...PageQuery,
    cursor: Cursor("DeliveryCursor", "whd_01kajv3k4ve6nsd9z5kgtzx0rw"),
    state: Type.Optional(
      Type.String({
        title: "DeliveryStateFilter",
        format: "delivery-states",
        description: "Only deliveries in this state, or in one of several, separated by commas.",
        examples: ["failed"],
      }),
    ),
    type: Type.Optional(
      Type.String({
        title: "WebhookEventFilter",
        format: "webhook-events",
        description: "Only deliveries of events of this type, or of one of several, separated by commas.",
        examples: ["job.failed"],
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListDeliveries = Static<typeof ListDeliveries>;

export const WebhookPath = Type.Object({ name: WebhookName });
export const DeliveryPath = Type.Object({ name: WebhookName, id: DeliveryId });
