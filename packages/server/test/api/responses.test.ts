import { ERRORS, type PersonRole } from "@tidemill/contract";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, inject } from "vitest";
import { uuidOf } from "#kernel";
import { FORMATS } from "../../src/http/formats.ts";
import { type DocumentedResponse, type Operation, operationsOf, pathOf, type Schema } from "../harness/api-doc.ts";
import type { Reply } from "../harness/ask.ts";
import { Wire } from "../harness/database-wire.ts";
import { laneOf, putCircuit } from "../harness/engine.ts";
import { limitedTo } from "../harness/limits.ts";
import { putOperation } from "../harness/operations.ts";
import { makeKey } from "../harness/operator.ts";
import { newPerson } from "../harness/people.ts";
import { STATUS } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { newWorkspace, Service, startTestNode, test, until } from "../harness/service.ts";
import { settle, take, takeOne } from "../harness/workers.ts";
import { putWorkflow } from "../harness/workflows.ts";

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, formats: FORMATS });

/** The schema with every object closed: a response has no field that /doc does not name. */
const closed = (schema: Schema): Schema => {
  if (typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return inner.type === "object" && inner.properties ? { additionalProperties: false, ...inner } : inner;
};

/** Fields and headers that are missing in responses of a workspace without a limit. */
const UNLIMITED = /ratelimit/i;

/** Lists how a response differs from /doc. */
function differences(reply: Reply, status: string, { headers = {}, content = {} }: DocumentedResponse): unknown[] {
  const found: unknown[] = [];
  if (String(reply.status) !== status) return [`answered ${reply.status}: ${reply.text.slice(0, 300)}`];
  for (const [name, { schema }] of Object.entries(headers)) {
    const value = reply.headers.get(name);
    if (value === null && UNLIMITED.test(name)) continue;
    if (value === null || !ajv.validate(schema, schema.type === "integer" ? Number(value) : value)) found.push(`header ${name}: ${value}`);
  }
  const [media] = Object.entries(content);
  if (!media) return reply.text === "" && !reply.headers.has("content-type") ? found : [...found, `a body: ${reply.text}`];
  const [type, { schema }] = media;
  if (reply.headers.get("content-type") !== `${type}; charset=utf-8`) found.push(`content type ${reply.headers.get("content-type")}`);
  const body = type === "application/json" ? reply.body : reply.text;
  if (!ajv.validate(closed(schema), body)) found.push(...(ajv.errors ?? []));
  if (reply.status >= 400 && ERRORS[reply.body.error.code as keyof typeof ERRORS]?.status !== reply.status)
    found.push(`code ${reply.body.error.code}`);
  return found;
}

type Ask = (service: Service, operation: Operation) => Promise<Reply>;
interface Spoilt {
  readonly values?: Record<string, string>;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly query?: string;
}

/** Sends the operation's documented example, with given values in place of its own. */
const plain =
  ({ values = {}, body, headers = {}, query }: Spoilt = {}): Ask =>
  (service, operation) => {
    const asked = query ?? (operation.id === "getJournal" ? "?lease_token=a" : "");
    const example = operation.requestBody?.content["application/json"]?.example;
    return service.api(operation.method, pathOf(operation, values) + asked, body ?? example, headers);
  };

/** As `plain`, for an existing queue. */
const queue =
  (spoilt: Spoilt = {}): Ask =>
  async (service, operation) =>
    plain({ values: { name: await service.queue() }, ...spoilt })(service, operation);

/** As `plain`, for an existing secret, whose limits may have been altered in the database. */
const secret =
  (spoilt: Spoilt = {}, change?: "alter"): Ask =>
  async (service, operation) => {
    await service.api("POST", "/v1/secrets", { name: "KEPT", value: "a secret that there is" });
    if (change === "alter") await service.database.query("update secret set allowed_hosts = '{}' where name = 'KEPT'");
    return plain({ values: { name: "KEPT" }, ...spoilt })(service, operation);
  };

/** As `plain`, for a webhook that there is, or a delivery of it that has ended. */
const webhook =
  (spoilt: Spoilt = {}, change?: "disable" | "pend"): Ask =>
  async (service, operation) => {
    const { url } = await service.handler({ answers: change === "pend" ? 500 : { status: 200, body: "thanks" } });
    const name = `alerts-${new URL(url).port}`;
    await service.ok("POST", "/v1/webhooks", { name, url, events: ["job.failed"] });
    const delivery = await service.ok("POST", `/v1/webhooks/${name}/test`);
    const path = `/v1/webhooks/${name}/deliveries/${delivery.id}`;
    await until(async () => (await service.ok("GET", path)).attempts > 0);
    if (change === "disable") await service.ok("PATCH", `/v1/webhooks/${name}`, { enabled: false });
    return plain({ values: { name, id: delivery.id }, ...spoilt })(service, operation);
  };

/** As `plain`, for an existing schedule that was created with these settings and then changed. */
const schedule =
  (spoilt: Spoilt = {}, settings: Record<string, unknown> = {}, change: string | null = null): Ask =>
  async (service, operation) => {
    // The example uses this name.
    await service.api("POST", "/v1/queues", { name: "reports" });
    const made = await service.ok("POST", "/v1/schedules", { queue: "reports", cron: "@daily", timezone: "UTC", ...settings });
    if (change === "pause" || change === "strand") await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    if (change === "strand") await service.database.query("update schedule set timezone = 'Mars/Olympus' where paused");
    if (change === "trigger") await service.ok("POST", `/v1/schedules/${made.name}/trigger`);
    return plain({ values: { name: made.name }, ...spoilt })(service, operation);
  };

/** As `plain`, for a person in this role, or in none, whose id the body names where it names one. */
const member =
  (role: PersonRole | null, query?: string): Ask =>
  async (service, operation) => {
    const { id, email } = await newPerson(service, { role });
    const bodies: Record<string, object> = { createInvitation: { role: "read", email } };
    return plain({ values: { id }, body: bodies[operation.id], ...(query && { query }) })(service, operation);
  };

/** An operator adds a person in this role, in none, or one who does not exist. Keys add nobody. */
const added =
  (role: PersonRole | null | "absent"): Ask =>
  async (service) => {
    const operator = await newPerson(service, { operator: true });
    const id = role === "absent" ? "usr_01kajv3k4ve6nsd9z5kgtzx0rw" : (await newPerson(service, { role })).id;
    return operator.api(service.workspaceId, "POST", "/v1/members", { id, role: "read" });
  };

/** As `plain`, for the only admin of a workspace. */
const lastAdmin: Ask = async (service, operation) => member("admin")(await limitedTo(service, {}), operation);

/** As `plain`, for an invitation that there is. */
const invitation =
  (query?: string): Ask =>
  async (service, operation) => {
    const { id } = await service.ok("POST", "/v1/invitations", { role: "read" });
    return plain({ values: { id }, ...(query && { query }) })(service, operation);
  };

const STATES = ["completed", "failed", "active", "delayed", "cancelled", "waiting", "pending_approval", "rejected"] as const;
type State = (typeof STATES)[number];

/** A job in this state. */
async function jobIn(service: Service, state: State): Promise<{ id: string; name: string }> {
  const body = '{"sent":[1,null]}';
  const answers = {
    completed: { status: 200, headers: { "content-type": "application/json" }, body },
    failed: { status: 500, body },
    active: "hang",
  } as const;
  const serve = async (of: keyof typeof answers) =>
    (await service.handler({ answers: answers[of], defaultJobOptions: { attempts: 1 } })).queue;
  const type = state === "pending_approval" || state === "rejected" ? "approval" : "standard";
  const name = state in answers ? await serve(state as keyof typeof answers) : await service.queue({ type });
  const job = await service.enqueue({ queue: name, tag: "t", concurrencyKey: "k", ...(state === "delayed" && { delay: 60 }) });
  if (state === "cancelled") await service.ok("DELETE", `/v1/queues/${name}/jobs/${job.id}`);
  if (state === "rejected") await service.ok("POST", `/v1/queues/${name}/jobs/${job.id}/reject`, { by: "somebody" });
  await service.untilState({ id: job.id, queue: name }, state);
  return { id: job.id, name };
}

/** As `plain`, for a job in this state, or for its queue. */
const job =
  (state: State, body?: unknown): Ask =>
  async (service, operation) =>
    plain({ values: await jobIn(service, state), body })(service, operation);

/** As `plain`, for one of so many operations that are running. */
const operated =
  (running = 1): Ask =>
  async (service, operation) => {
    const workspaceId = uuidOf("ws", service.workspaceId) as string;
    const ids: string[] = [];
    while (ids.length < running) ids.push(await putOperation(service.database, workspaceId, "1 hour"));
    const reply = await plain({ values: { id: ids[0] as string } })(service, operation);
    await service.database.query("delete from operation where workspace_id = $1", [workspaceId]);
    return reply;
  };
/** As `plain`, for an operation that has ended. */
const ended: Ask = async (service, operation) => {
  const id = await putOperation(service.database, uuidOf("ws", service.workspaceId) as string, "1 hour");
  await service.ok("POST", `/v1/operations/${id}/cancel`);
  return plain({ values: { id } })(service, operation);
};

const everyJob = STATES.map((state) => job(state));

/** As `plain`, for a job that every gate holds. */
const heldJob: Ask = async (service, operation) => {
  const limited = await limitedTo(service, { executions_per_month: 1 });
  const rate_limit = { max: 1, per_seconds: 60 };
  const name = await limited.queue({ type: "approval", approval: { timeout: 60 }, concurrency: 1, rate_limit, paused: true });
  const { id } = await limited.enqueue({ queue: name, concurrencyKey: "k", delay: 60 });
  await putCircuit(limited.database, await laneOf(limited, name));
  return plain({ values: { name, id } })(limited, operation);
};

/** As `plain`, after the queue has got a job with a key. */
const keyed =
  (body: unknown, headers: Record<string, string> = {}): Ask =>
  async (service, operation) => {
    const name = await service.queue();
    await service.enqueue({ queue: name, payload: 1, idempotencyKey: "k" });
    return plain({ values: { name }, body, headers })(service, operation);
  };

const LIMITED = { executions_per_month: 1, requests_per_minute: 10 };

/** As `plain`, for a job that a worker holds. */
const held =
  (body: object = {}, { lose = false } = {}): Ask =>
  async (service, operation) => {
    const name = await service.queue();
    await service.enqueue({ queue: name });
    const taken = await takeOne(service, name);
    if (lose) await settle(service, taken, { outcome: "released" });
    const { id, lease_token } = taken;
    const named = operation.id === "extendLeases" ? { worker: "w1", leases: [{ id, lease_token }], ...body } : { lease_token, ...body };
    return plain({ values: { name, id }, body: named })(service, operation);
  };

/** As `plain`, with the name of a queue in the body. */
const worker =
  (settings: object = {}): Ask =>
  async (service, operation) => {
    const name = await service.queue();
    await service.enqueue({ queue: name });
    const taken = await takeOne(service, name);
    await service.enqueue({ queue: name });
    const settled = [{ id: taken.id, lease_token: taken.lease_token, outcome: "completed" }];
    return plain({ body: { worker: "w1", queues: [name], settle: settled, ...settings } })(service, operation);
  };

type RunState = "pending" | "running" | "sleeping" | "unfit" | "failed" | "completed" | "cancelled";

interface RunSettings {
  readonly body?: object;
  readonly lose?: boolean;
  readonly signal?: string;
  readonly invokes?: string;
  /** Key of a step in its journal. */
  readonly stored?: string;
}

/** As `plain`, for a run in this state, or for its workflow. */
const run =
  (state: RunState, { body, lose = false, signal, invokes, stored }: RunSettings = {}): Ask =>
  async (service, operation) => {
    const { id: name, trigger, take: takeRun, end } = await putWorkflow(service, { attempts: 1 });
    const id = await trigger({ input: [1], idempotencyKey: "k" });
    const taken = state === "pending" || state === "cancelled" ? null : await takeRun(state === "unfit" ? {} : { version: "v1" });
    const sleep = { key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 };
    if (taken && state === "sleeping") await end(taken, { outcome: "suspended", steps: [sleep] });
    if (taken && state === "unfit") await end(taken, { outcome: "unfit", step: "load", error: "It does not fit." });
    if (taken && state === "failed") await end(taken, { outcome: "failed", error: "bad" });
    if (taken && state === "completed") await end(taken, { outcome: "completed", result: { n: 1 } });
    if (taken && stored)
      await service.ok("POST", `/v1/runs/${id}/steps`, {
        lease_token: taken.lease_token,
        steps: [{ key: stored, type: "run", status: "completed" }],
      });
    if (taken && lose) await end(taken, { outcome: "released" });
    if (state === "cancelled") await service.ok("POST", `/v1/runs/${id}/cancel`);
    const steps = { lease_token: taken?.lease_token, steps: [{ key: "a", type: "run", status: "completed", output: 1 }] };
    const sent = { lease_token: taken?.lease_token, key: "tell", name: "user.created" };
    const registered = { lease_token: taken?.lease_token, key: "ask", signal: signal ?? id };
    const invocation = { lease_token: taken?.lease_token, key: "bill", workflow: invokes ?? name, timeout: 60_000 };
    const bodies: Record<string, object> = {
      reportSteps: steps,
      reportStepsOfRuns: {
        reports: [{ id, lease_token: taken?.lease_token ?? "t" }],
        steps: [{ report: 0, key: "a", type: "run", status: "completed", output: 1 }],
      },
      sendStepEvent: sent,
      registerSignal: registered,
      invokeWorkflow: invocation,
    };
    const reported = bodies[operation.id] ? { body: bodies[operation.id] as object } : {};
    const query = operation.id === "getJournal" && taken ? { query: `?lease_token=${taken.lease_token}` } : {};
    return plain({ values: { name, id }, ...reported, ...query, ...(body && { body }) })(service, operation);
  };

/** The events of a run that has ended, for a reader that has all of them. */
const watchedToItsEnd: Ask = async (service, operation) => {
  const { text } = await run("completed")(service, operation);
  const [, id = ""] = /"runId":"(.+?)"/.exec(text) ?? [];
  const [, last = ""] = /^id: (.+)$/m.exec(text) ?? [];
  return plain({ values: { id }, headers: { "last-event-id": last } })(service, operation);
};

/** As `plain`, for a signal that a run waits for. With `twice` it has been completed. */
const awaitedSignal =
  ({ twice = false, body = { ok: true } as unknown } = {}): Ask =>
  async (service, operation) => {
    const { trigger, take: takeRun, end } = await putWorkflow(service);
    const signal = `signal of ${await trigger()}`;
    await end(await takeRun(), {
      outcome: "suspended",
      steps: [{ key: "wait", type: "wait", status: "waiting", signal, timeout: 60_000 }],
    });
    if (twice) await service.ok("POST", `/v1/signals/${encodeURIComponent(signal)}/complete`);
    return plain({ values: { id: signal }, body })(service, operation);
  };

/** A signal of another run. */
const takenSignal: Ask = async (service, operation) => {
  const { trigger, take: takeRun, end } = await putWorkflow(service);
  const signal = `signal of ${await trigger()}`;
  await end(await takeRun(), { outcome: "suspended", steps: [{ key: "wait", type: "wait", status: "waiting", signal, timeout: 60_000 }] });
  return run("running", { signal })(service, operation);
};

/** An event that starts a run of a workflow. */
const listening =
  (spoilt: Spoilt = {}): Ask =>
  async (service, operation) => {
    await putWorkflow(service, { events: ["user.created"] });
    return plain(spoilt)(service, operation);
  };

/** A step's event or invocation, in a workspace that has one execution for its run and none for those that it would start. */
const stepBeyondQuota: Ask = async (service, operation) => {
  const limited = await limitedTo(service, { executions_per_month: 1 });
  await putWorkflow(limited, { events: ["user.created"] });
  return run("running")(limited, operation);
};

const RUN_STATES = ["pending", "running", "sleeping", "failed", "completed", "cancelled"] as const;
const everyRun = RUN_STATES.map((state) => run(state));

/** A queue that nodes serve. */
const served: Ask = async (service, operation) => {
  const { queue: name } = await service.handler();
  return operation.id === "work"
    ? plain({ body: { worker: "w1", queues: [name] } })(service, operation)
    : plain({ values: { name } })(service, operation);
};

/** How to get each success response. */
const SUCCESSES: Record<string, Ask[]> = {
  "listQueues 200": [plain(), queue(), queue({ query: "?include=metrics" }), queue({ query: "?limit=1" })],
  "createQueue 201": [plain(), plain({ body: { name: "plain" } })],
  "getQueue 200": [queue(), ...everyJob],
  "patchQueue 200": [queue(), queue({ body: {} }), queue({ body: { callback_url: null } })],
  "deleteQueue 204": [queue(), job("failed")],
  "enqueueJob 201": [queue(), queue({ body: { payload: null, delay: 60, tag: "t", concurrencyKey: "k" } })],
  "enqueueJob 200": [keyed({ payload: 1, idempotencyKey: "k" }), keyed({ payload: 1 }, { "Idempotency-Key": "k" })],
  "enqueueBatch 201": [
    queue(),
    queue({ body: [{ payload: null }] }),
    keyed([
      { payload: 1, idempotencyKey: "k" },
      { payload: 1, idempotencyKey: "l" },
    ]),
  ],
  "enqueueBatch 200": [keyed({ jobs: [{ payload: 1, idempotencyKey: "k" }] })],
  "listJobs 200": [queue(), ...everyJob],
  "getJob 200": everyJob,
  "explainJob 200": [...everyJob, heldJob],
  "deleteJob 200": [job("waiting"), job("delayed"), job("active"), job("pending_approval")],
  "deleteJob 204": [job("completed"), job("failed"), job("cancelled"), job("rejected")],
  "retryJob 200": [job("failed"), job("cancelled"), job("rejected")],
  "replayJob 200": [job("completed"), job("failed"), job("active")],
  "approveJob 200": [job("pending_approval"), job("pending_approval", {})],
  "rejectJob 200": [job("pending_approval"), job("pending_approval", {})],
  "listApprovals 200": [plain(), job("pending_approval")],
  "retryAll 200": [queue(), job("failed", {}), job("failed", { tag: "t", failed_before: "2030-01-01T00:00:00Z" })],
  "work 200": [worker(), worker({ settle: [{ id: "job_01kajv3k4ve6nsd9z5kgtzx0rw", lease_token: "a", outcome: "failed" }] })],
  "extendLeases 200": [plain(), held()],
  "claimJobs 200": [queue()],
  "completeJob 204": [held(), held({ result: [1] })],
  "failJob 204": [held(), held({ error: "bad", retry: false })],
  "heartbeatJob 200": [held({ lease: 60 })],
  "listWorkers 200": [
    plain(),
    async (service, operation) => {
      await take(service, await service.queue(), { version: "1.0.0" });
      return plain({ query: "?limit=1" })(service, operation);
    },
  ],
  "putWorkflow 200": [run("pending"), run("pending", { body: {} })],
  "putWorkflow 201": [plain()],
  "getWorkflow 200": [run("pending")],
  "listWorkflows 200": [plain(), run("pending"), plain({ query: "?limit=1" })],
  "listJournals 200": [...everyRun, run("unfit")],
  "deleteWorkflow 204": everyRun,
  "triggerWorkflow 201": [run("pending"), run("pending", { body: {} })],
  "triggerWorkflow 200": [run("completed", { body: { idempotencyKey: "k" } })],
  "triggerWorkflowMany 200": [run("pending"), run("pending", { body: { triggers: [{}, { idempotencyKey: "k" }] } })],
  "listRuns 200": [plain(), ...everyRun, plain({ query: "?limit=1&status=failed,completed" })],
  "getRun 200": [...everyRun, run("unfit")],
  "explainRun 200": [...everyRun, run("unfit")],
  "watchRun 200": [run("completed"), run("failed"), run("cancelled")],
  "watchWorkspace 200": [plain()],
  "watchRun 204": [watchedToItsEnd],
  "cancelRun 200": [run("pending"), run("running"), run("sleeping"), run("unfit")],
  "retryRun 200": [run("failed"), run("cancelled"), run("unfit")],
  "reportSteps 200": [run("running")],
  "reportStepsOfRuns 200": [run("running"), run("completed"), run("running", { lose: true })],
  "getJournal 200": [run("running")],
  "sendStepEvent 200": [run("running")],
  "registerSignal 200": [run("running")],
  "invokeWorkflow 200": [run("running")],
  "completeSignal 200": [awaitedSignal(), awaitedSignal({ body: "null" })],
  "sendEvent 202": [plain(), plain({ body: { name: "a" } }), listening()],
  "listSchedules 200": [
    plain(),
    schedule({ query: "?limit=1" }),
    schedule({ query: "?limit=1&state=active" }, { payload: [1], tag: "t", concurrencyKey: "k", attempts: 1 }),
  ],
  "createSchedule 201": [schedule(), schedule({ body: { queue: "reports", cron: "@daily", timezone: "UTC" } })],
  "previewSchedule 200": [
    plain({ query: "?cron=@hourly&timezone=Asia/Kathmandu" }),
    plain({ query: "?cron=@daily&timezone=UTC&count=1&days=2" }),
  ],
  "listSkippedTicks 200": [schedule(), schedule({ query: "?limit=1" })],
  "getSchedule 200": [schedule(), schedule({}, {}, "pause"), schedule({}, { payload: null, overlap: "skip", catch_up: "all" }, "trigger")],
  "patchSchedule 200": [schedule(), schedule({ body: { tag: null, attempts: null, payload: "x" } }, {}, "pause")],
  "pauseSchedule 200": [schedule(), schedule({}, {}, "pause")],
  "resumeSchedule 200": [schedule(), schedule({}, {}, "pause")],
  "triggerSchedule 201": [schedule(), schedule({}, { tag: "t", concurrencyKey: "k" }, "pause")],
  "deleteSchedule 204": [schedule(), schedule({}, {}, "trigger")],
  "listWebhooks 200": [plain(), webhook(), plain({ query: "?limit=1" })],
  "createWebhook 201": [
    plain(),
    plain({ body: { name: "other", url: "https://example.com/", events: ["run.failed"], headers: { a: "b" } } }),
  ],
  "getWebhook 200": [webhook(), webhook({}, "pend"), webhook({}, "disable")],
  "patchWebhook 200": [webhook(), webhook({ body: { enabled: false } }), webhook({ body: { enabled: true } })],
  "deleteWebhook 204": [webhook()],
  "testWebhook 201": [webhook(), webhook({}, "disable")],
  "listDeliveries 200": [webhook(), webhook({}, "pend"), webhook({ query: "?limit=1&state=delivered&type=webhook.test" })],
  "getDelivery 200": [webhook(), webhook({}, "pend"), webhook({}, "disable")],
  "replayDelivery 201": [webhook(), webhook({}, "disable")],
  "listSecrets 200": [plain(), secret(), secret({ query: "?limit=1" })],
  "createSecret 201": [plain(), plain({ body: { name: "LIMITED", value: "x", allowed_queues: ["q"], allowed_hosts: null } })],
  "patchSecret 200": [secret(), secret({ body: { allowed_queues: [], allowed_hosts: ["example.com"] } })],
  "deleteSecret 204": [secret()],
  "listKeys 200": [plain(), plain({ query: "?limit=1" }), plain({ query: "?cursor=key_7zzzzzzzzzzzzzzzzzzzzzzzzz" })],
  "createKey 201": [plain(), plain({ body: { name: "plain" } }), plain({ body: { name: "reader", role: "read", expires_at: null } })],
  "revokeKey 204": [
    async (service, operation) => plain({ values: { id: (await service.ok("POST", "/v1/keys", { name: "old" })).id } })(service, operation),
  ],
  "listMembers 200": [plain(), member("admin"), member("read", "?limit=1")],
  "addMember 201": [added(null)],
  "updateMember 200": [member("write"), member("read")],
  "removeMember 204": [member("write")],
  "listInvitations 200": [plain(), invitation(), invitation("?limit=1")],
  "createInvitation 201": [plain(), plain({ body: { role: "admin" } }), plain({ body: { role: "read", email: null } }), member(null)],
  "revokeInvitation 204": [invitation()],
  "listAuditEvents 200": [
    plain(),
    queue(),
    queue({ query: "?limit=1" }),
    queue({ query: "?event_type=queue.created&resource_type=queue" }),
  ],
  "getMetrics 200": [plain(), job("completed"), plain({ query: "?step=3600" })],
  "listChanges 200": [plain(), queue()],
  "markDeploy 201": [plain()],
  "listDeploys 200": [plain(), plain({ query: "?limit=1&from=2026-01-01T00:00:00Z" })],
  "getUsage 200": [plain(), queue(), job("completed"), plain({ query: "?period=2020-01" })],
  "getStatus 200": [plain(), ...everyJob, async (service, operation) => plain()(await limitedTo(service, LIMITED), operation)],
  "listAllJobs 200": [plain(), ...everyJob, plain({ query: "?payload_contains=a&error_code=TIMEOUT" })],
  "countJobs 200": [plain(), ...everyJob],
  "retryJobs 202": [plain(), plain({ body: { ids: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"] } })],
  "cancelJobs 202": [plain()],
  "removeJobs 202": [plain()],
  "listOperations 200": [plain(), operated()],
  "getOperation 200": [operated()],
  "cancelOperation 200": [operated()],
  "listDeadLetterGroups 200": [plain(), job("failed")],
  "listDeadLetters 200": [plain(), job("failed")],
  "retryDeadLetters 200": [job("failed", {}), job("failed", { error: "HTTP_STATUS", tag: "t" })],
  "purgeDeadLetters 200": [job("failed", {}), job("failed", { error: "HTTP_STATUS", tag: "t" })],
};

/** An event whose key was used with other data. */
const sentBefore: Ask = async (service, operation) => {
  await service.ok("POST", "/v1/events", { name: "a", data: 1, idempotencyKey: "k" });
  return plain({ body: { name: "a", data: 2, idempotencyKey: "k" } })(service, operation);
};

/** With a callback_url, on a plan that does not allow it. */
const onFree: Ask = async (service, operation) => {
  const free = await limitedTo(service, {}, "free");
  return queue({ body: { ...(operation.id === "createQueue" && { name: "called" }), callback_url: "https://example.com/" } })(
    free,
    operation,
  );
};

/** With an endpoint_url, on a plan that does not allow it. */
const endpointOnFree: Ask = async (service, operation) =>
  plain({ body: { endpoint_url: "https://example.com/" } })(await limitedTo(service, {}, "free"), operation);

const absentName = (path: string): string => (path.startsWith("/v1/secrets/") ? "ABSENT" : "absent");

/** How to get each error, from every operation that documents it. */
const ERRORS_OF: Record<string, (operation: Operation) => Ask[]> = {
  400: ({ id, path, parameters, requestBody }) => [
    ...(path.includes("{name}") ? [plain({ values: { name: "-" } })] : []),
    ...(path.includes("{id}") ? [plain({ values: { id: id === "completeSignal" ? "x".repeat(257) : "-" } })] : []),
    ...(parameters.some(({ name }) => name === "limit") ? [plain({ query: "?limit=0" })] : []),
    ...(["getStatus", "getUsage", "getMetrics", "listChanges", "previewSchedule", "watchWorkspace", "countJobs"].includes(id)
      ? [plain({ query: "?nope=1" })]
      : []),
    ...(requestBody ? [plain({ body: "{" })] : []),
    ...(requestBody && id !== "completeSignal" ? [plain({ body: { nope: 1 } })] : []),
  ],
  401: () => [plain({ headers: { authorization: "" } })],
  402: ({ id }) =>
    id === "sendStepEvent" || id === "invokeWorkflow"
      ? [stepBeyondQuota]
      : [
          async (service, operation) => {
            const limited = await limitedTo(service, { executions_per_month: 0 });
            if (operation.id === "triggerWorkflow") {
              const { id: name } = await putWorkflow(limited);
              return plain({ values: { name } })(limited, operation);
            }
            if (operation.id === "sendEvent") return listening()(limited, operation);
            return (operation.path.startsWith("/v1/schedules/") ? schedule() : queue())(limited, operation);
          },
        ],
  403: ({ id }) => [
    async (service, operation) => {
      const as = async (role: "read" | "worker") =>
        plain({ headers: { authorization: `Bearer ${await makeKey(service, { role })}` } })(service, operation);
      const reply = await as("read");
      // A key of role worker may not read what a key of role read may.
      return reply.status === 403 ? reply : as("worker");
    },
    ...(["createQueue", "patchQueue"].includes(id) ? [onFree] : []),
    ...(id === "putWorkflow" ? [endpointOnFree] : []),
    ...(id === "addMember" ? [plain()] : []),
  ],
  404: ({ id, path }) => [
    ...(path.includes("{name}") ? [plain({ values: { name: absentName(path) } })] : []),
    ...(path.includes("{id}") ? [path.includes("{name}") ? queue() : plain()] : []),
    ...(path === "/v1/dlq/retry" || path === "/v1/dlq/purge" ? [plain({ body: { queue: "absent" } })] : []),
    ...(id === "work" ? [plain()] : []),
    ...(id === "addMember" ? [added("absent")] : []),
    ...(id === "getMetrics" ? [plain({ query: "?queue=absent" })] : []),
    ...(id === "invokeWorkflow" ? [run("running", { invokes: "absent" })] : []),
    ...(id === "createSchedule" ? [plain({ body: { queue: "absent", cron: "@daily", timezone: "UTC" } })] : []),
    ...(id === "patchSchedule" ? [schedule({ body: { queue: "absent" } })] : []),
  ],
  409: ({ id }) => {
    const takenWebhook: Ask = async (service, operation) => {
      const body = { name: "taken", url: "https://example.com/", events: ["job.failed"] };
      await service.api("POST", "/v1/webhooks", body);
      return plain({ body })(service, operation);
    };
    const taken: Ask = async (service, operation) => plain({ body: { name: await service.queue() } })(service, operation);
    return (
      {
        createQueue: [taken],
        createSchedule: [schedule({ body: { name: "taken", queue: "reports", cron: "@daily", timezone: "UTC" } }, { name: "taken" })],
        createWebhook: [takenWebhook],
        replayDelivery: [webhook({}, "pend")],
        createSecret: [secret({ body: { name: "KEPT", value: "x" } })],
        patchSchedule: [schedule({ body: { cron: "@hourly" } }, {}, "strand")],
        patchSecret: [secret({ body: { value: "x" } }, "alter")],
        resumeSchedule: [schedule({}, {}, "strand")],
        work: [served],
        claimJobs: [served],
        completeJob: [held({}, { lose: true })],
        failJob: [held({}, { lose: true })],
        heartbeatJob: [held({}, { lose: true })],
        retryJobs: [operated(10)],
        cancelJobs: [operated(10)],
        removeJobs: [operated(10)],
        cancelOperation: [ended],
        addMember: [added("read")],
        updateMember: [lastAdmin],
        removeMember: [lastAdmin],
        createInvitation: [member("read")],
        cancelRun: [run("failed"), run("completed"), run("cancelled")],
        retryRun: [run("pending"), run("running"), run("sleeping"), run("completed")],
        reportSteps: [run("running", { lose: true }), run("completed"), run("sleeping")],
        registerSignal: [run("running", { lose: true }), run("completed"), run("sleeping"), takenSignal],
        invokeWorkflow: [run("running", { lose: true }), run("completed"), run("sleeping"), run("running", { stored: "bill" })],
        completeSignal: [awaitedSignal({ twice: true })],
        getJournal: [run("running", { lose: true }), run("completed"), run("sleeping")],
        sendStepEvent: [run("running", { lose: true }), run("completed"), run("sleeping")],
        retryJob: [job("completed"), job("waiting"), job("delayed"), job("active"), job("pending_approval")],
        replayJob: [job("waiting")],
        approveJob: [job("waiting"), job("rejected"), job("completed")],
        rejectJob: [job("delayed"), job("rejected"), job("cancelled")],
      }[id] ?? []
    );
  },
  413: () => [
    (service, operation) => {
      const body = Buffer.alloc(
        (["enqueueBatch", "work", "reportSteps", "reportStepsOfRuns", "triggerWorkflowMany"].includes(operation.id) ? 16 : 2) *
          1024 *
          1024 +
          1,
        " ",
      );
      const headers = { authorization: `Bearer ${service.key}`, "content-type": "application/json" };
      return sendRaw(service.node.url, { method: operation.method, path: pathOf(operation), headers, body });
    },
  ],
  422: ({ id }) =>
    id === "sendEvent"
      ? [sentBefore]
      : [keyed(id === "enqueueJob" ? { payload: 2, idempotencyKey: "k" } : [{ payload: 2, idempotencyKey: "k" }])],
  429: () => [
    async (service, operation) => {
      const limited = await limitedTo(service, { requests_per_minute: 1 });
      await limited.api("GET", "/v1/queues");
      let reply = await plain()(limited, operation);
      // Reports of workers are refused beyond ten times the limit.
      for (let reports = 1; reports <= 10 && reply.status !== 429; reports += 1) reply = await plain()(limited, operation);
      return reply;
    },
  ],
  500: () => [plain()],
  503: () => [plain()],
};

const waysTo = (operation: Operation, status: string): Ask[] =>
  SUCCESSES[`${operation.id} ${status}`] ?? ERRORS_OF[status]?.(operation) ?? [];

/** Requests every documented response with this status. Returns how the responses differ from /doc. */
async function check(service: Service, operations: readonly Operation[], status: string): Promise<unknown[]> {
  const faults: unknown[] = [];
  let asked = 0;
  for (const operation of operations) {
    const documented = operation.responses[status];
    if (!documented) continue;
    const ways = waysTo(operation, status);
    if (ways.length === 0) faults.push(`${operation.id} ${status}: nobody asks for it`);
    for (const way of ways) {
      const found = differences(await way(service, operation), status, documented);
      faults.push(...found.map((fault) => [operation.id, status, fault]));
      asked += 1;
    }
  }
  return asked > 0 ? faults : [`nothing documents ${status}`];
}

const ASKED = ["200", "201", "202", "204", "400", "401", "402", "403", "404", "409", "413", "422", "429"];

test("every documented status is tested here", async ({ service }) => {
  const documented = (await operationsOf(service)).flatMap(({ responses }) => Object.keys(responses));
  expect([...new Set(documented)].sort()).toEqual([...ASKED, "500", "503"]);
});

test.for(ASKED)("every documented %s is given as it is documented", async (status, { service }) => {
  expect(await check(service, await operationsOf(service), status)).toEqual([]);
});

test("every operation answers a fault of ours with 500 and nothing of its inside", async ({ database, clock }) => {
  const node = await startTestNode(database, clock);
  const service = new Service(node, database, clock, await newWorkspace(database));
  const operations = await operationsOf(service);
  try {
    await database.query("alter function tenant_workspace rename to tenant_workspace_kept");
    await database.query(
      "create function tenant_workspace() returns uuid language plpgsql stable as $$ begin raise 'the wall is broken'; end $$",
    );
    await database.query("select make_tenant_views()");
    for (const table of ["job", "lane"]) await database.query(`alter table ${table} rename to ${table}_away`);
    // These do not query the database.
    const asking = operations.filter(({ id }) => !["previewSchedule", "watchWorkspace", "addMember"].includes(id));
    expect(await check(service, asking, "500")).toEqual([]);
    const { body } = await plain()(service, asking[0] as Operation);
    expect(body).toEqual({ error: { code: "INTERNAL", message: "Something failed on our side.", details: {} } });
  } finally {
    for (const table of ["job", "lane"]) await database.query(`alter table if exists ${table}_away rename to ${table}`);
    await database.query("drop function tenant_workspace cascade");
    await database.query("alter function tenant_workspace_kept rename to tenant_workspace");
    await database.query("select make_tenant_views()");
    await node.stop();
  }
});

test("every operation answers 503 with Retry-After while the database is away", async ({ database, clock }) => {
  const { host, port } = inject("postgres");
  const wire = await Wire.to(host, port, database.name);
  const node = await startTestNode(database, clock, {
    DATABASE_URL: wire.url(),
    TIDEMILL_DRAIN_SECONDS: "0",
  });
  const service = new Service(node, database, clock, await newWorkspace(database));
  const operations = await operationsOf(service);
  await wire.close();
  try {
    expect(await check(service, operations, "503")).toEqual([]);
  } finally {
    await node.stop();
  }
});

test("the catalogue is the contract's", () => {
  expect(Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status]))).toEqual(STATUS);
});
