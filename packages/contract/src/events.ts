import { type Static, Type } from "typebox";
import { IdempotencyKey, keyHeader } from "./jobs.ts";
import { LEASE_TOKEN, LeaseToken } from "./leases.ts";
import { EventName } from "./names.ts";
import { StepKey } from "./steps.ts";
import { EVENT_ID } from "./workflow-examples.ts";
import { EventId, RUN_ID, RunId } from "./workflow-ids.ts";

const eventFields = {
  name: EventName,
  data: Type.Optional(
    Type.Unknown({
      description:
        "What the workflows get as input: any JSON value of at most 1 MiB, null when left out. Strings in it may contain templates.",
    }),
  ),
  ts: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 8_640_000_000_000_000,
      description: "When the event happened. Milliseconds since 1970 (Unix time). Default: now.",
    }),
  ),
};

const eventExample = { name: "user.created", data: { userId: "u1" } };

const EVENT_KEY = "A name for this event, unique in the workspace. Another event with the same key, name and data starts no run.";

export const EventHeaders = Type.Object(keyHeader("EventKeyHeader", EVENT_KEY));

export const SendEvent = Type.Object(
  {
    ...eventFields,
    idempotencyKey: Type.Optional({
      ...IdempotencyKey,
      title: "EventKey",
      description: EVENT_KEY,
    }),
  },
  {
    title: "SendEvent",
    description: "An event. It starts a run of each workflow that is registered with its name.",
    additionalProperties: false,
    examples: [{ ...eventExample, idempotencyKey: "signup-u1" }],
  },
);
export type SendEvent = Static<typeof SendEvent>;

const sent = {
  eventId: EventId,
  runIds: Type.Array(RunId, { description: "The runs that it started." }),
};

export const SentEvent = Type.Object(
  { ...sent, duplicate: Type.Boolean({ description: "Whether the key had been used before, so that no run was started." }) },
  { title: "SentEvent", description: "What an event has started.", examples: [{ eventId: EVENT_ID, runIds: [RUN_ID], duplicate: false }] },
);
export type SentEvent = Static<typeof SentEvent>;

/** An event that a step of a run sends (docs/run-protocol.md). */
export const SendStepEvent = Type.Object(
  { lease_token: LeaseToken, key: StepKey, ...eventFields },
  {
    title: "SendStepEvent",
    description: "An event that a step of a run sends.",
    additionalProperties: false,
    examples: [{ lease_token: LEASE_TOKEN, key: "tell", ...eventExample }],
  },
);
export type SendStepEvent = Static<typeof SendStepEvent>;

export const StepEventSent = Type.Object(sent, {
  title: "StepEventSent",
  description: "The output of the step.",
  examples: [{ eventId: EVENT_ID, runIds: [RUN_ID] }],
});
export type StepEventSent = Static<typeof StepEventSent>;
