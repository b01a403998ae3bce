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
    payload: Type.Unknown({ description: "The payload of the job, with its templates replaced by secrets." }),
  },
  { title: "Callback", description: "A job as the handler receives it." },
);
export type Callback = Static<typeof Callback>;

/** A job's callback as a request to send. Source: the command `tidemill replay`. */
export const SignedCallback = Type.Object(
  {
    headers: Type.Record(Type.String(), Type.String(), {
      description: "All headers of the request, with the signature. Templates in the queue's own headers are not replaced.",
    }),
    body: Type.String({ description: "The body, exactly as it is signed. Templates in the payload are not replaced." }),
  },
  {
    title: "SignedCallback",
    description: "A job as a signed request to a handler.",
    examples: [
      {
        headers: {
          "Content-Type": "application/json",
          "X-Service-Job-Id": "job_01kajv3k4ve6nsd9z5kgtzx0rw",
          "X-Service-Attempt": "1",
          "X-Service-Timestamp": "1795253400",
          "X-Service-Signature": "v1,DkQc9xMEM3VUvPpBPaTvnxJEmNVFjBzRL0PjYnCJWVQ=",
        },
        body: '{"id":"job_01kajv3k4ve6nsd9z5kgtzx0rw","queue":"emails","attempt":1,"attempts":3,"tag":null,"created_at":"2026-11-21T09:30:00.000Z","schedule":null,"scheduled_for":null,"payload":{"to":"ada@example.com"}}',
      },
    ],
  },
);
export type SignedCallback = Static<typeof SignedCallback>;
