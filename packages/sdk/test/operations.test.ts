import { readFileSync } from "node:fs";
import { Tidemill } from "@tidemill/sdk";
import { describe, expect, test } from "vitest";

const KEY = "svc_ws_abcdefghijklmnopqrstuvwxyz0123454WTnwY";
const RUN = "run_01kajv3k4ve6nsd9z5kgtzx0rw";
const JOB = "job_01kajv3k4ve6nsd9z5kgtzx0rw";
const PERSON = "usr_01kajv3k4ve6nsd9z5kgtzx0rw";
const OPERATION = "op_01kajv3k4ve6nsd9z5kgtzx0rw";
const DELIVERY = "whd_01kajv3k4ve6nsd9z5kgtzx0rw";

const HELD = { queue: "emails", id: JOB, lease_token: "1f-3a-1-pXn3ZC0w8bVb2xXq6p1yKQ" };

/** A call of the client for each operation of the API. */
const CALLS: Readonly<Record<string, (tidemill: Tidemill) => PromiseLike<unknown>>> = {
  listQueues: (tidemill) => tidemill.queues.list({ limit: 10 }),
  createQueue: (tidemill) => tidemill.queues.create({ name: "emails" }),
  getQueue: (tidemill) => tidemill.queues.get("emails"),
  patchQueue: (tidemill) => tidemill.queues.update("emails", { paused: true }),
  deleteQueue: (tidemill) => tidemill.queues.delete("emails"),
  retryAll: (tidemill) => tidemill.queues.retryAll("emails", { tag: "welcome" }),
  enqueueBatch: (tidemill) => tidemill.queue("emails").enqueue({}),
  listJobs: (tidemill) => tidemill.queue("emails").jobs.list({ state: "waiting,delayed" }),
  getJob: (tidemill) => tidemill.queue("emails").jobs.get(JOB),
  deleteJob: (tidemill) => tidemill.queue("emails").jobs.cancelOrRemove(JOB),
  retryJob: (tidemill) => tidemill.queue("emails").jobs.retry(JOB),
  explainRun: (tidemill) => tidemill.runs.explain(RUN),
  explainJob: (tidemill) => tidemill.queue("emails").jobs.explain(JOB),
  replayJob: (tidemill) => tidemill.queue("emails").jobs.replay(JOB),
  approveJob: (tidemill) => tidemill.queue("emails").jobs.approve(JOB, { by: "ada" }),
  rejectJob: (tidemill) => tidemill.queue("emails").jobs.reject(JOB, { reason: "no" }),
  listAllJobs: (tidemill) => tidemill.jobs.list({ state: "failed" }),
  countJobs: (tidemill) => tidemill.jobs.count({ queue: "emails" }),
  retryJobs: (tidemill) => tidemill.jobs.retry({ ids: [JOB] }),
  cancelJobs: (tidemill) => tidemill.jobs.cancel({ filter: { queue: "emails" } }),
  removeJobs: (tidemill) => tidemill.jobs.remove({ ids: [JOB] }),
  listOperations: (tidemill) => tidemill.operations.list({ limit: 10 }),
  getOperation: (tidemill) => tidemill.operations.get(OPERATION),
  cancelOperation: (tidemill) => tidemill.operations.cancel(OPERATION),
  listApprovals: (tidemill) => tidemill.approvals.list({ queue: "emails" }),
  listDeadLetters: (tidemill) => tidemill.deadLetters.list({ error: "TIMEOUT" }),
  listDeadLetterGroups: (tidemill) => tidemill.deadLetters.groups({ limit: 10 }),
  retryDeadLetters: (tidemill) => tidemill.deadLetters.retry({ queue: "emails" }),
  purgeDeadLetters: (tidemill) => tidemill.deadLetters.purge({ queue: "emails" }),
  listSchedules: (tidemill) => tidemill.schedules.list({ state: "active" }),
  createSchedule: (tidemill) => tidemill.schedules.create({ queue: "emails", cron: "@daily", timezone: "UTC" }),
  getSchedule: (tidemill) => tidemill.schedules.get("nightly"),
  patchSchedule: (tidemill) => tidemill.schedules.update("nightly", { cron: "@hourly" }),
  deleteSchedule: (tidemill) => tidemill.schedules.delete("nightly"),
  pauseSchedule: (tidemill) => tidemill.schedules.pause("nightly"),
  resumeSchedule: (tidemill) => tidemill.schedules.resume("nightly"),
  triggerSchedule: (tidemill) => tidemill.schedules.trigger("nightly"),
  listSkippedTicks: (tidemill) => tidemill.schedules.skips("nightly", { limit: 10 }),
  previewSchedule: (tidemill) => tidemill.schedules.preview({ cron: "@daily", timezone: "UTC", count: 3 }),
  listSecrets: (tidemill) => tidemill.secrets.list(),
  createSecret: (tidemill) => tidemill.secrets.create({ name: "TOKEN", value: "secret" }),
  patchSecret: (tidemill) => tidemill.secrets.update("TOKEN", { value: "other" }),
  deleteSecret: (tidemill) => tidemill.secrets.delete("TOKEN"),
  listWebhooks: (tidemill) => tidemill.webhooks.list({ limit: 10 }),
  createWebhook: (tidemill) => tidemill.webhooks.create({ name: "alerts", url: "https://example.com/", events: ["job.failed"] }),
  getWebhook: (tidemill) => tidemill.webhooks.get("alerts"),
  patchWebhook: (tidemill) => tidemill.webhooks.update("alerts", { rotate_secret: true }),
  deleteWebhook: (tidemill) => tidemill.webhooks.delete("alerts"),
  testWebhook: (tidemill) => tidemill.webhooks.test("alerts"),
  listDeliveries: (tidemill) => tidemill.webhooks.deliveries("alerts", { state: "failed" }),
  getDelivery: (tidemill) => tidemill.webhooks.delivery("alerts", DELIVERY),
  replayDelivery: (tidemill) => tidemill.webhooks.replay("alerts", DELIVERY),
  listKeys: (tidemill) => tidemill.keys.list(),
  createKey: (tidemill) => tidemill.keys.create({ name: "Deploys", role: "write" }),
  revokeKey: (tidemill) => tidemill.keys.revoke("key_01kajv3k4ve6nsd9z5kgtzx0rw"),
  listMembers: (tidemill) => tidemill.members.list({ limit: 10 }),
  addMember: (tidemill) => tidemill.members.add({ id: PERSON, role: "read" }),
  updateMember: (tidemill) => tidemill.members.update(PERSON, { role: "write" }),
  removeMember: (tidemill) => tidemill.members.remove(PERSON),
  listInvitations: (tidemill) => tidemill.invitations.list({ limit: 10 }),
  createInvitation: (tidemill) => tidemill.invitations.create({ role: "read" }),
  revokeInvitation: (tidemill) => tidemill.invitations.revoke("inv_01kajv3k4ve6nsd9z5kgtzx0rw"),
  getStatus: (tidemill) => tidemill.status(),
  getUsage: (tidemill) => tidemill.usage({ period: "2026-11" }),
  getMetrics: (tidemill) => tidemill.metrics({ queue: "emails", step: 60 }),
  listChanges: (tidemill) => tidemill.changes({ queue: "emails" }),
  markDeploy: (tidemill) => tidemill.deploys.mark({ name: "shop", version: "v2" }),
  listDeploys: (tidemill) => tidemill.deploys.list({ limit: 10 }),
  listWorkers: (tidemill) => tidemill.workers.list({ limit: 10 }),
  work: (tidemill) => tidemill.workers.work({ worker: "w1", queues: ["emails"] }),
  extendLeases: (tidemill) => tidemill.workers.extend({ worker: "w1", leases: [HELD] }),
  claimJobs: (tidemill) => tidemill.workers.claim("emails", { worker: "w1" }),
  completeJob: (tidemill) => tidemill.workers.complete(HELD, { sent: true }),
  failJob: (tidemill) => tidemill.workers.fail(HELD, { error: "no such address" }),
  heartbeatJob: (tidemill) => tidemill.workers.heartbeat(HELD, { lease: 60 }),
  putWorkflow: (tidemill) => tidemill.workflows.put("user.onboard", { attempts: 5 }),
  listWorkflows: (tidemill) => tidemill.workflows.list({ limit: 10 }),
  getWorkflow: (tidemill) => tidemill.workflows.get("user.onboard"),
  listJournals: (tidemill) => tidemill.workflows.journals("user.onboard", { limit: 10 }),
  deleteWorkflow: (tidemill) => tidemill.workflows.delete("user.onboard"),
  triggerWorkflow: (tidemill) => tidemill.workflows.trigger("user.onboard", { input: { userId: "u1" } }),
  triggerWorkflowMany: (tidemill) => tidemill.workflows.triggerMany("user.onboard", { triggers: [{ input: { userId: "u1" } }] }),
  listRuns: (tidemill) => tidemill.runs.list({ status: "failed" }),
  getRun: (tidemill) => tidemill.runs.get(RUN),
  // The response of this test is no stream.
  watchWorkspace: (tidemill) =>
    tidemill
      .live()
      .next()
      .catch(() => {}),
  watchRun: (tidemill) =>
    tidemill.runs
      .watch(RUN)
      .next()
      .catch(() => {}),
  cancelRun: (tidemill) => tidemill.runs.cancel(RUN),
  reportSteps: (tidemill) => tidemill.runs.reportSteps(RUN, { lease_token: HELD.lease_token, steps: [] }),
  reportStepsOfRuns: (tidemill) => tidemill.runs.reportStepsOfRuns({ reports: [{ id: RUN, lease_token: HELD.lease_token, progress: 1 }] }),
  getJournal: (tidemill) => tidemill.runs.journal(RUN, { lease_token: HELD.lease_token, limit: 100 }),
  retryRun: (tidemill) => tidemill.runs.retry(RUN),
  sendEvent: (tidemill) => tidemill.events.send("user.created", { userId: "u1" }),
  sendStepEvent: (tidemill) => tidemill.runs.sendEvent(RUN, { lease_token: HELD.lease_token, key: "tell", name: "user.created" }),
  registerSignal: (tidemill) => tidemill.runs.registerSignal(RUN, { lease_token: HELD.lease_token, key: "ask", signal: "approve.u1" }),
  invokeWorkflow: (tidemill) =>
    tidemill.runs.invoke(RUN, { lease_token: HELD.lease_token, key: "bill", workflow: "billing.start", timeout: 3_600_000 }),
  completeSignal: (tidemill) => tidemill.signals.complete("approve.u1", { ok: true }),
  listAuditEvents: (tidemill) => tidemill.auditEvents.list({ event_type: "queue.created" }),
};

interface Operation {
  readonly operationId: string;
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly example?: object }>> }>>;
  readonly parameters?: readonly { readonly name?: string; readonly in?: string; readonly $ref?: string }[];
}

const { paths, components } = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, { name: string; in: string }> };
};
const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [operation.operationId, { method: method.toUpperCase(), path, operation }] as const),
);

test("the client has a method for each operation of the API", () => {
  // A single job is a batch of one.
  expect([...Object.keys(CALLS), "enqueueJob"].sort()).toEqual(OPERATIONS.map(([id]) => id).sort());
});

/** Names of the parameters that an operation takes in its query. */
const queryOf = ({ parameters = [] }: Operation): string[] =>
  parameters
    .map((one) => (one.$ref === undefined ? one : components.parameters[one.$ref.split("/").at(-1) ?? ""]))
    .flatMap((one) => (one?.in === "query" && one.name !== undefined ? [one.name] : []));

/** What the service responds by the document's example, for one job where a call is about several. */
function responseTo({ operationId, responses }: Operation): Response {
  const status = Object.keys(responses).find((one) => one.startsWith("2"));
  const content = responses[status ?? ""]?.content?.["application/json"];
  if (!content) return new Response(null, { status: Number(status) });
  const body = content.example ?? { data: [], next_cursor: null };
  const { jobs } = body as { jobs?: unknown[] };
  return Response.json(operationId === "enqueueBatch" ? { jobs: jobs?.slice(0, 1) } : body, { status: Number(status) });
}

describe("each method sends what the API document says, and takes its response", () => {
  test.for(OPERATIONS.filter(([id]) => id in CALLS))("%s", async ([id, { method, path, operation }]) => {
    const sent: { url: URL; init: RequestInit }[] = [];
    const fetch: typeof globalThis.fetch = async (input, init = {}) => {
      sent.push({ url: new URL(String(input)), init });
      return responseTo(operation);
    };
    await CALLS[id]?.(new Tidemill({ url: "http://127.0.0.1:8080", key: KEY, fetch }));

    const [{ url, init } = { url: new URL("http://none"), init: {} }] = sent;
    expect(init.method).toBe(method);
    expect(url.pathname).toMatch(new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`));
    expect(queryOf(operation)).toEqual(expect.arrayContaining([...url.searchParams.keys()]));
    expect(init.body === undefined).toBe(operation.requestBody === undefined);
    expect(new Headers(init.headers).get("content-type")).toBe(init.body === undefined ? null : "application/json");
  });
});
