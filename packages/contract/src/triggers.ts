import { type Static, Type } from "typebox";
import { IdempotencyKey, keyHeader } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { EventName } from "./names.ts";
import { Moment, Nullable } from "./paging.ts";
import { StepKey } from "./steps.ts";
import { EVENT_ID } from "./workflow-examples.ts";
import { EventId, RUN_ID, RunId } from "./workflow-ids.ts";

const TRIGGER_KEY = "A name for this trigger, unique in the workflow. Another trigger with the same key starts no run, whatever its input.";

export const TriggerHeaders = Type.Object(keyHeader("TriggerKeyHeader", TRIGGER_KEY));

export const TriggerWorkflow = Type.Object(
  {
    input: Type.Optional(
      Type.Unknown({
        description:
          "The input of the workflow: any JSON value, null when left out. Strings in it may contain templates like `${{ secrets.NAME }}`.",
      }),
    ),
    idempotencyKey: Type.Optional({
      ...IdempotencyKey,
      title: "TriggerKey",
      description: TRIGGER_KEY,
    }),
    delay: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LIMITS.delaySeconds, description: "How long the run waits before it starts. Seconds." }),
    ),
  },
  {
    title: "TriggerWorkflow",
    description: "Starts a run.",
    additionalProperties: false,
    examples: [{ input: { userId: "u1" }, idempotencyKey: "signup-u1" }],
  },
);
export type TriggerWorkflow = Static<typeof TriggerWorkflow>;

export const Triggered = Type.Object(
  {
    runIds: Type.Array(RunId, { description: "The run that was started, or the one that an earlier trigger with the same key started." }),
    duplicate: Type.Boolean({ description: "Whether the key had been used before, so that no run was started." }),
  },
  { title: "Triggered", description: "What a trigger has started.", examples: [{ runIds: [RUN_ID], duplicate: false }] },
);
export type Triggered = Static<typeof Triggered>;

export const TriggerMany = Type.Object(
  {
    triggers: Type.Array(TriggerWorkflow, {
      minItems: 1,
      maxItems: LIMITS.triggers,
      description: "Each starts a run or is refused, independently of the others.",
    }),
  },
  {
    title: "TriggerMany",
    description: "Starts many runs of one workflow.",
    additionalProperties: false,
    examples: [{ triggers: [{ input: { userId: "u1" } }, { input: { userId: "u2" }, idempotencyKey: "signup-u2" }] }],
  },
);
export type TriggerMany = Static<typeof TriggerMany>;

const TRIGGER_ERRORS = ["QUOTA_EXCEEDED", "PAYLOAD_TOO_LARGE", "VALIDATION_ERROR", "UNAVAILABLE"] as const;

export const TriggeredMany = Type.Object(
  {
    triggered: Type.Array(
      Type.Object(
        {
          runIds: Type.Array(RunId, { description: "As for one trigger; empty if it was refused." }),
          duplicate: Type.Boolean({ description: "Whether its key had been used before." }),
          code: Nullable(Type.Enum([...TRIGGER_ERRORS]), { description: "Why the trigger was refused; null if it was accepted." }),
          message: Nullable(Type.String(), { description: "The reason, in words." }),
          details: Type.Unknown({ description: "More about the refusal, as the error of one trigger has it." }),
        },
        { title: "TriggeredOne", description: "The outcome of one trigger." },
      ),
      { description: "The outcome of each trigger, in the order sent." },
    ),
  },
  {
    title: "TriggeredMany",
    description: "What triggers have started.",
    examples: [{ triggered: [{ runIds: [RUN_ID], duplicate: false, code: null, message: null, details: {} }] }],
  },
);
export type TriggeredMany = Static<typeof TriggeredMany>;

export const RunTrigger = Type.Object(
  {
    type: Type.Enum(["api", "event", "schedule", "invoke"], { description: "What started the run." }),
    eventId: Type.Optional(EventId),
    name: Type.Optional(EventName),
    ts: Type.Optional(Type.Number({ description: "When the event happened. Milliseconds since 1970." })),
    scheduledFor: Type.Optional(Moment("The tick of the workflow's `cron`.")),
    runId: Type.Optional(RunId),
    step: Type.Optional(StepKey),
  },
  {
    title: "RunTrigger",
    description:
      "What started a run. `event`: an event, with its id, name and time. `schedule`: a tick of the workflow's `cron`. " +
      "`invoke`: a step of another run.",
    examples: [{ type: "api" }, { type: "event", eventId: EVENT_ID, name: "user.created", ts: 1_795_426_200_000 }],
  },
);
