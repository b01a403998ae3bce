import type { RecordKind } from "@tidemill/contract";

/** What requests that change something change, by the first part of their path. To name too many is harmless: a page then reads again. */
const KINDS: Readonly<Record<string, readonly RecordKind[]>> = {
  queues: ["queues", "jobs", "approvals", "schedules", "circuits"],
  jobs: ["jobs", "queues", "approvals"],
  operations: ["jobs", "queues", "approvals"],
  approvals: ["approvals", "jobs", "queues"],
  dlq: ["jobs", "queues"],
  schedules: ["schedules", "jobs", "queues", "approvals"],
  secrets: ["secrets"],
  keys: ["keys"],
  members: ["members"],
  invitations: ["members"],
  webhooks: ["webhooks", "circuits"],
  deploys: ["deploys"],
  workflows: ["workflows", "runs"],
  events: ["runs", "workflows"],
  signals: ["runs"],
  runs: ["runs"],
  work: ["workers"],
};

/** Enqueued jobs are reported where they are written (`jobs/enqueue.ts`), so that a request costs nothing. */
const ENQUEUE = /^\/v1\/queues\/:\w+\/jobs(\/batch)?$/;

/** The kinds of records that a route changes. Empty for one that only reads. */
export function kindsOfRoute(method: string, url: string): readonly RecordKind[] {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS" || ENQUEUE.test(url)) return [];
  const [, , resource = ""] = url.split("/");
  return url.startsWith("/v1/") ? (KINDS[resource] ?? []) : [];
}
