import { type Static, Type } from "typebox";
import { JobId } from "./jobs.ts";
import { QueueName } from "./names.ts";
import { Moment, Nullable } from "./paging.ts";

/** The body of a callback. Source: contract §4, Callback. */
export const Callback = Type.Object(
  {
    id: JobId,
    queue: QueueName,
    attempt: Type.Integer({ description: "Number of the attempt, from 1." }),
    attempts: Type.Integer({ description: "Attempts allowed." }),
    tag: Nullable(Type.String(), { description: "The tag that the job was enqueued with." }),
    created_at: Moment("When the job was enqueued."),
    schedule: Nullable(Type.String(), { description: "Name of the schedule that created the job; null for an enqueued job." }),
    scheduled_for: Nullable(Moment("RFC 3339 in UTC."), { description: "The tick of the schedule that the job was created for." }),
    payload: Type.Unknown({ description: "The payload of the job, with secrets in place of templates." }),
  },
  { title: "Callback", description: "A job as the handler receives it." },
);
export type Callback = Static<typeof Callback>;
