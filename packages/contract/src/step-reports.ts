import { type Static, Type } from "typebox";
import { LEASE_TOKEN, LeaseToken } from "./leases.ts";
import { LIMITS } from "./limits.ts";
import { Nullable } from "./paging.ts";
import { ReportedStep } from "./steps.ts";
import { RUN_ID, RunId } from "./workflow-ids.ts";

/** The progress of a run, as its code reports it. */
export const Progress = Type.Unknown({ description: "The progress, as the code reports it: any JSON value of at most 4 KiB." });

export const ReportedSteps = Type.Object(
  {
    lease_token: LeaseToken,
    steps: Type.Optional(
      Type.Array(ReportedStep, { minItems: 1, maxItems: LIMITS.reportedSteps, description: "Steps that were executed." }),
    ),
    progress: Type.Optional(Progress),
  },
  {
    title: "ReportedSteps",
    description: "What a worker has executed of a run: `steps`, `progress`, or both.",
    additionalProperties: false,
    examples: [{ lease_token: LEASE_TOKEN, steps: [{ key: "load user", type: "run", status: "completed", output: { name: "Ada" } }] }],
  },
);
export type ReportedSteps = Static<typeof ReportedSteps>;

const Ready = Type.Optional(
  Type.Array(Type.String(), {
    description:
      "Keys of the reported waits whose outcome is there already, such as the payload of a signal that was completed before. The next " +
      "execution begins with it. Left out if there are none.",
  }),
);

export const StepsStored = Type.Object(
  { steps: Type.Integer({ description: "How many steps the journal has." }), ready: Ready },
  { title: "StepsStored", description: "The steps are stored.", examples: [{ steps: 2 }] },
);
export type StepsStored = Static<typeof StepsStored>;

const reportedRun = { id: RUN_ID, lease_token: LEASE_TOKEN };

/** What a worker has executed of several runs (docs/run-protocol.md). */
export const StepReports = Type.Object(
  {
    reports: Type.Array(
      Type.Object(
        { id: RunId, lease_token: LeaseToken, progress: Type.Optional(Progress) },
        { title: "ReportOfRun", description: "An execution, and its progress if that is reported.", additionalProperties: false },
      ),
      { minItems: 1, maxItems: LIMITS.stepReports, description: "The executions of which something is reported." },
    ),
    steps: Type.Optional(
      Type.Array(
        Type.Object(
          {
            report: Type.Integer({
              minimum: 0,
              maximum: LIMITS.stepReports - 1,
              description: "The place of its execution in `reports`, from 0.",
            }),
            ...ReportedStep.properties,
          },
          { title: "StepOfReport", description: "A step of one of the executions.", additionalProperties: false },
        ),
        {
          minItems: 1,
          maxItems: LIMITS.stepsOfReports,
          description: "Steps that were executed. Those of one execution are stored in this order.",
        },
      ),
    ),
  },
  {
    title: "StepReports",
    description: "What a worker has executed of several runs: steps of each, its `progress`, or both.",
    additionalProperties: false,
    examples: [
      { reports: [reportedRun], steps: [{ report: 0, key: "load user", type: "run", status: "completed", output: { name: "Ada" } }] },
    ],
  },
);
export type StepReports = Static<typeof StepReports>;

const REPORT_ERRORS = ["LEASE_LOST", "VALIDATION_ERROR", "PAYLOAD_TOO_LARGE", "UNAVAILABLE"] as const;

export const StepReportsStored = Type.Object(
  {
    reports: Type.Array(
      Type.Object(
        {
          id: RunId,
          ok: Type.Boolean({ description: "Whether it was stored." }),
          steps: Nullable(Type.Integer(), { description: "How many steps the journal has; null if the report was refused." }),
          ready: Ready,
          code: Nullable(Type.Enum([...REPORT_ERRORS]), {
            description:
              "Why not: the error that `POST /v1/runs/:id/steps` responds with, or `LEASE_LOST` if there is no such run. `UNAVAILABLE`: secrets that " +
              "may be in the report cannot be read at the moment; it may be repeated.",
          }),
          message: Nullable(Type.String(), { description: "Why not, in words." }),
          details: Type.Unknown({ description: "More about the refusal, as the error of one report has it." }),
        },
        { title: "StoredReport", description: "Whether one report was stored." },
      ),
      { description: "Whether each report was stored, in the order sent." },
    ),
  },
  {
    title: "StepReportsStored",
    description: "Each report is stored or refused by itself.",
    examples: [{ reports: [{ id: RUN_ID, ok: true, steps: 2, code: null, message: null, details: {} }] }],
  },
);
export type StepReportsStored = Static<typeof StepReportsStored>;
