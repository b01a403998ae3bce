import { type Static, Type } from "typebox";
import { LeaseToken } from "./leases.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { RunStatus } from "./runs.ts";
import { RunStep } from "./steps.ts";
import { RunTrigger } from "./triggers.ts";
import { AT, STEP } from "./workflow-examples.ts";
import { RUN_ID, RunId, WorkflowId } from "./workflow-ids.ts";

/** A run in flight with its journal, as a replay needs it. */
export const RunJournal = Type.Object(
  {
    runId: RunId,
    workflowId: WorkflowId,
    version: Nullable(Type.String(), { description: "Version of the code that started the run." }),
    status: RunStatus,
    attempt: Type.Integer({ description: "Number of this execution: those that failed before it, plus one." }),
    attempts: Type.Integer({ description: "After how many failed executions the run fails." }),
    input: Type.Unknown({ description: "What the run was triggered with." }),
    trigger: RunTrigger,
    createdAt: Moment("When it was triggered."),
    journal: Type.Array(RunStep, { description: "Its steps in the order of their outcomes, then waiting steps." }),
  },
  {
    title: "RunJournal",
    description: "A run in flight, with its journal.",
    examples: [
      {
        runId: RUN_ID,
        workflowId: "user.onboard",
        version: "2026-11-23",
        status: "sleeping",
        attempt: 1,
        attempts: 3,
        input: { userId: "u1" },
        trigger: { type: "api" },
        createdAt: AT,
        journal: [STEP],
      },
    ],
  },
);
export type RunJournal = Static<typeof RunJournal>;

export const ListJournals = Type.Object(
  { limit: PageQuery.limit, cursor: Cursor("RunJournalCursor", RUN_ID) },
  { additionalProperties: false },
);
export type ListJournals = Static<typeof ListJournals>;

/** Which page of the journal of its execution a program reads. */
export const ReadJournal = Type.Object(
  {
    lease_token: LeaseToken,
    limit: PageQuery.limit,
    cursor: Cursor("JournalCursor", "0-50"),
  },
  { additionalProperties: false },
);
export type ReadJournal = Static<typeof ReadJournal>;

export const JournalPage = Type.Object(
  {
    data: Type.Array(RunStep, { description: "Steps in the order of their outcomes, then waiting steps." }),
    next_cursor: Nullable(Type.String(), { description: "The `cursor` of the next page; null at the end of the journal." }),
  },
  { title: "JournalPage", description: "A part of a journal.", examples: [{ data: [STEP], next_cursor: null }] },
);
export type JournalPage = Static<typeof JournalPage>;
