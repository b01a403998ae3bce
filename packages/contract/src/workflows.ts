import { type Static, Type } from "typebox";
import { HookName } from "./hooks.ts";
import { Attempts, Backoff } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { EventName } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { Cron, Timezone } from "./schedules.ts";
import { AT } from "./workflow-examples.ts";
import { WorkflowId } from "./workflow-ids.ts";

export const CodeVersion = Type.String({
  title: "CodeVersion",
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.codeVersionLength,
  description: "Version of the code that executes the workflow.",
  examples: ["2026-11-23"],
});

const EndpointUrl = Type.String({
  title: "EndpointUrl",
  format: "endpoint-url",
  maxLength: LIMITS.callbackUrlLength,
  description: "Address of the program that executes the workflow.",
  examples: ["https://example.com/tidemill"],
});

const ENDPOINT_SECRET = "^cbs_[A-Za-z0-9_-]{43}$";

const settings = {
  attempts: Type.Optional(Attempts),
  backoff: Type.Optional(Backoff),
  concurrency: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: LIMITS.concurrency }), {
      description: "How many executions of its code may be under way at once, hooks and undos included; null: no limit.",
    }),
  ),
  version: Type.Optional(Nullable(CodeVersion, { description: "The current version of the code, for people to see." })),
  events: Type.Optional(
    Type.Array(EventName, {
      maxItems: LIMITS.workflowEvents,
      uniqueItems: true,
      description: "Names of events that start runs of the workflow. Default: none.",
    }),
  ),
  cron: Type.Optional(Nullable(Cron, { description: "Starts a run at each tick of this cron expression. Default: none." })),
  timezone: Type.Optional(Nullable(Timezone, { description: "The time zone of `cron`. Each requires the other." })),
  hooks: Type.Optional(
    Type.Array(HookName, { uniqueItems: true, description: "Lifecycle hooks that the workflow's code has. Default: none." }),
  ),
  endpoint_url: Type.Optional(
    Nullable(EndpointUrl, { description: "Where executions of runs and hooks are sent; null: workers take them. Default: null." }),
  ),
  endpoint_timeout: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 900,
      description: "How long one execution at the `endpoint_url` may take. Seconds. Default: 30.",
    }),
  ),
  endpoint_secret: Type.Optional(
    Type.String({
      pattern: ENDPOINT_SECRET,
      description: "The secret to sign executions with, instead of a generated one, so that workflows at one URL can share it.",
    }),
  ),
  rotate_endpoint_secret: Type.Optional(
    Type.Boolean({ description: "Generates a new secret to sign executions with, which only this response contains." }),
  ),
};

const example = {
  attempts: 3,
  backoff: { type: "exponential", delay: 1000 },
  concurrency: null,
  version: "2026-11-23",
  events: ["user.created"],
  cron: "30 2 * * *",
  timezone: "Europe/Berlin",
  hooks: ["onFailure"],
};

export const PutWorkflow = Type.Object(settings, {
  title: "PutWorkflow",
  description: "Settings of a workflow. Settings that are left out get their defaults.",
  additionalProperties: false,
  examples: [example, { endpoint_url: "https://example.com/tidemill" }],
});
export type PutWorkflow = Static<typeof PutWorkflow>;

const onboard = {
  id: "user.onboard",
  ...example,
  endpoint_url: null,
  endpoint_timeout: 30,
  has_endpoint_secret: false,
  endpoint_stopped: null,
  nextRunAt: "2026-11-24T01:30:00.000Z",
  createdAt: AT,
  updatedAt: AT,
};

const workflowFields = {
  id: WorkflowId,
  attempts: Type.Integer({ description: "After how many failed executions a run fails." }),
  backoff: Backoff,
  concurrency: Nullable(Type.Integer(), {
    description: "How many executions of its code may be under way at once, hooks and undos included; null: no limit.",
  }),
  version: Nullable(Type.String(), { description: "The current version of the code." }),
  events: Type.Array(EventName, { description: "Names of events that start runs of it." }),
  cron: Nullable(Type.String(), { description: "The cron expression that starts runs of it." }),
  timezone: Nullable(Type.String(), { description: "The time zone of `cron`." }),
  nextRunAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When `cron` starts the next run." }),
  hooks: Type.Array(HookName, { description: "Lifecycle hooks that its code has." }),
  endpoint_url: Nullable(Type.String(), { description: "Where executions of runs and hooks are sent; null: workers take them." }),
  endpoint_timeout: Type.Integer({ description: "How long one execution at the `endpoint_url` may take. Seconds." }),
  has_endpoint_secret: Type.Boolean({ description: "Whether the workflow has a secret to sign executions with." }),
  endpoint_stopped: Nullable(
    Type.Object(
      {
        code: Type.Literal("PLAN_REQUIRED", { description: "The plan does not have callbacks." }),
        message: Type.String({ description: "The reason, for people." }),
      },
      { title: "EndpointStopped", description: "Why no executions are sent." },
    ),
    {
      description:
        "Why no executions are sent although there is an `endpoint_url`; null while they are sent. Runs wait until the plan has callbacks again.",
    },
  ),
  createdAt: Moment("When it was first registered."),
  updatedAt: Moment("When it was last registered."),
};

export const Workflow = Type.Object(workflowFields, { title: "Workflow", description: "A workflow.", examples: [onboard] });
export type Workflow = Static<typeof Workflow>;

/** A workflow in the response to its registration. */
export const WorkflowWithSecret = Type.Object(
  {
    ...workflowFields,
    changed: Type.Array(Type.String(), { description: "Names of the settings that this request changed; empty for a new workflow." }),
    endpoint_secret: Type.Optional(
      Type.String({
        pattern: ENDPOINT_SECRET,
        description: "The secret that executions are signed with. Only the response to the request that generated it contains it.",
      }),
    ),
  },
  {
    title: "WorkflowWithSecret",
    description: "A workflow, with what this request changed, and its secret when this request generated one.",
    examples: [
      {
        ...onboard,
        endpoint_url: "https://example.com/tidemill",
        has_endpoint_secret: true,
        changed: ["endpoint_url"],
        endpoint_secret: "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs",
      },
    ],
  },
);
export type WorkflowWithSecret = Static<typeof WorkflowWithSecret>;

export const ListWorkflows = Type.Object(
  { limit: PageQuery.limit, cursor: Cursor("WorkflowCursor", "d29ya2Zsb3cgMTIzNDU2Nw") },
  { additionalProperties: false },
);
export type ListWorkflows = Static<typeof ListWorkflows>;
