import { MIXED_QUEUE } from "./put-jobs.ts";

/** What is asked for by jobs that are there. */
export interface Known {
  readonly id: string;
  readonly fingerprint: string;
}

const DAY_MS = 86_400_000;

/** Each filter of jobs, and some of them together. The part of a payload is one that no job has: all that a request may read is read. */
const filtersOf = ({ id, fingerprint }: Known): Readonly<Record<string, string>> => {
  const yesterday = new Date(Date.now() - DAY_MS).toISOString();
  return {
    "no filter": "",
    "state failed": "state=failed",
    "state completed": "state=completed",
    "state active": "state=active",
    "states waiting, delayed": "state=waiting,delayed",
    queue: `queue=${MIXED_QUEUE}`,
    "queue, state delayed": `queue=${MIXED_QUEUE}&state=delayed`,
    tag: "tag=tag-3",
    "queue, tag": `queue=${MIXED_QUEUE}&tag=tag-0`,
    key: "concurrency_key=customer-7",
    "error code": "state=failed&error_code=TIMEOUT",
    fingerprint: `fingerprint=${fingerprint}`,
    time: `created_before=${yesterday}`,
    "time, state failed": `created_after=${yesterday}&state=failed`,
    id: `id=${id}`,
    "part of the payload": "payload_contains=nobody%40example.com",
    "state failed, part of the payload": "state=failed&payload_contains=nobody%40example.com",
  };
};

/** The first pages that the dashboard asks for. */
export function pagesOf(known: Known): Readonly<Record<string, string>> {
  const filters = Object.entries(filtersOf(known));
  return {
    "queues with metrics": "/v1/queues?include=metrics&limit=100",
    "jobs of one queue": `/v1/queues/${MIXED_QUEUE}/jobs?limit=100`,
    "jobs of one queue by tag": `/v1/queues/${MIXED_QUEUE}/jobs?tag=tag-0&limit=100`,
    ...Object.fromEntries(filters.map(([name, filter]) => [`jobs: ${name}`, `/v1/jobs?limit=100&${filter}`])),
    "dead letters": "/v1/dlq?limit=100",
    "groups of dead letters": "/v1/dlq/groups",
    approvals: "/v1/approvals?limit=100",
    schedules: "/v1/schedules?limit=100",
    runs: "/v1/runs?limit=100",
    "runs that failed": "/v1/runs?status=failed&limit=100",
    workers: "/v1/workers?limit=100",
    "audit events": "/v1/audit-events?limit=100",
    "metrics of an hour": "/v1/metrics?step=300",
    changes: "/v1/changes",
  };
}

/** The counts that it asks for before a change of all jobs that match. */
export const countsOf = (known: Known): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(filtersOf(known)).map(([name, filter]) => [`count of jobs: ${name}`, `/v1/jobs/count?${filter}`]));
