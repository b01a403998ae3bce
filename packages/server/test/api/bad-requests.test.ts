import { METHODS } from "node:http";
import { JOB_STATES, SCHEDULE_STATES } from "@tidemill/contract";
import { expect } from "vitest";
import { type Operation, operationsOf, pathOf } from "../harness/api-doc.ts";
import { type Bad, complaintsAbout, everythingStored, faultsOf } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { type Service, test } from "../harness/service.ts";

const NOT_UTF8 = ["%ff", "%zz", "%", "%4", "%ED%A0%80", "%C0%80", "%F4%90%80%80"];

/** Values that no operation accepts as path parameters. A new parameter needs a row here. */
// biome-ignore format: a table
const PATHS: Record<string, readonly string[]> = {
  name: ["", "-a", ".a", "_a", "a%20b", "a%2Fb", "a%00b", "%00", "%C3%A9", "a%0Ab", "%F0%9F%98%80", "..%2F..", "x".repeat(129), "x".repeat(600), "x".repeat(8_000), ...NOT_UTF8],
  id: [
    "x", "job_", "job_1", "1", "job_01kajv3k4ve6nsd9z5kgtzx0rW", "job_01kajv3k4ve6nsd9z5kgtzx0rwx", "job_81kajv3k4ve6nsd9z5kgtzx0rw", "JOB_01kajv3k4ve6nsd9z5kgtzx0rw",
    "key-01kajv3k4ve6nsd9z5kgtzx0rw", "01kajv3k4ve6nsd9z5kgtzx0rw", "job_01kajv3k4ve6nsd9z5kgtzx0r%00", "019aa5b1-cc9b-7196-8a6b-e59c21afe818", "x".repeat(600), "job_01kajv3k4ve6nsd9z5kgtzx0rw%27--", ...NOT_UTF8,
  ],
};

/** Values that no operation accepts as query parameters. */
const TEXTS = ["%00", "a%00b", "a,%00", ...NOT_UTF8];
const NO_MOMENT = [
  "",
  "now",
  "2026-11-21",
  "2026-11-21T12:00:00",
  "2026-02-30T12:00:00Z",
  "1969-12-31T23:59:59Z",
  "infinity",
  "1",
  ...TEXTS,
];
// An invalid trace is no error: it is ignored.
const HEADERS: Record<string, readonly string[]> = {
  "Idempotency-Key": ["", "x".repeat(257)],
  // An id that says nothing is left out of account: the stream begins with the run.
  "Last-Event-ID": [],
  traceparent: [],
  tracestate: [],
};
/** Good bodies of the operations that have these headers. */
const BODIES: Record<string, string> = { enqueueJob: '{"payload":1}', enqueueBatch: '[{"payload":1}]', sendEvent: '{"name":"a"}' };
// biome-ignore format: a table
const QUERIES: Record<string, readonly string[]> = {
  limit: [
    "",
    "0",
    "-1",
    "101",
    "1.5",
    "1e1",
    "0x10",
    "%205",
    "5%20",
    "+5",
    "ten",
    "null",
    "true",
    "1,2",
    "1e400",
    "9223372036854775808",
    "%D9%A5",
    ...NOT_UTF8,
  ],
  cursor: [
    "",
    "-1",
    "nope!",
    "a.b",
    "..%2F",
    "1%20or%201",
    "%27",
    "{}",
    "x".repeat(257),
    "job_01kajv3k4ve6nsd9z5kgtzx0rW",
    "zzzzzzzzzzz",
    ...TEXTS,
  ],
  state: [
    "",
    "nope",
    "Waiting",
    "waiting,",
    ",waiting",
    "waiting,nope",
    "waiting%20",
    "waiting;failed",
    "active,",
    "active,nope",
    "Paused",
    ...TEXTS,
  ],
  status: ["", "nope", "Failed", "failed,", "failed,nope", ...TEXTS],
  workflowId: TEXTS,
  lease_token: ["", "a%20b", "a.b", "x".repeat(121), ...TEXTS],
  error: ["", "nope", "timeout", "TIMEOUT,", "TIMEOUT,NOPE", ...TEXTS],
  error_code: ["", "nope", "timeout", "TIMEOUT,", "TIMEOUT,NOPE", ...TEXTS],
  fingerprint: ["", "x", "5F1C0A9B3E7D2468", "5f1c0a9b3e7d246", "5f1c0a9b3e7d24681", ...TEXTS],
  created_after: NO_MOMENT,
  created_before: NO_MOMENT,
  id: ["", "x", "job_1", "job_01kajv3k4ve6nsd9z5kgtzx0rw,", "run_01kajv3k4ve6nsd9z5kgtzx0rw", "job_81kajv3k4ve6nsd9z5kgtzx0rw", ...TEXTS],
  payload_contains: ["", "x".repeat(257), ...TEXTS],
  concurrency_key: TEXTS,
  tag: TEXTS,
  type: ["", "nope", "Job.failed", "job.failed,", "job.failed,nope", ...TEXTS],
  queue: TEXTS,
  cron: [
    "",
    "x",
    "*%20*%20*%20*",
    "60%20*%20*%20*%20*",
    "30%202%2030%202%20*",
    "%3F%20*%20*%20*%20*",
    "@never",
    "*/0%20*%20*%20*%20*",
    "x".repeat(257),
    ...TEXTS,
  ],
  timezone: ["", "Nowhere", "Europe/Atlantis", "%2B01:00", "Europe/Berlin,UTC", "x".repeat(65), ...TEXTS],
  count: ["", "0", "-1", "101", "1.5", "1e1", "ten", "%205", "1,2", ...NOT_UTF8],
  days: ["", "0", "-1", "43", "1.5", "1e1", "ten", "%205", "1,2", ...NOT_UTF8],
  event_type: [
    "",
    "queue",
    "queue.read",
    "Queue.created",
    "queue.",
    ".created",
    "queue.created,",
    "queue%20created",
    "queue.created;x",
    ...TEXTS,
  ],
  resource_type: ["", "thing", "Queue", "queue,", "queue.created", "1", "queue%20", ...TEXTS],
  actor_id: ["", "key_", "nobody", "operator,", "KEY_01kajv3k4ve6nsd9z5kgtzx0rw", "job_01kajv3k4ve6nsd9z5kgtzx0rw", ...TEXTS],
  period: [
    "",
    "2026",
    "2026-13",
    "2026-00",
    "2026-1",
    "26-01",
    "2026-11-01",
    "2026-11,2026-12",
    "now",
    "0000-01",
    "1999-12",
    "9999-12",
    ...TEXTS,
  ],
  include: ["", "nope", "Metrics", "metrics,", "metrics,circuit", ...TEXTS],
  step: ["", "0", "-1", "59", "61", "1.5", "1e1", "ten", "%2060", "60,3600", "86401", "9223372036854775808", ...NOT_UTF8],
  from: NO_MOMENT,
  to: NO_MOMENT,
};

interface Spoilt extends Partial<Bad> {
  readonly query?: string;
  readonly values?: Record<string, string>;
}

/** Every operation, with a valid request to it, which a test then makes invalid in one place. */
async function asked(service: Service): Promise<{ operations: Operation[]; bad: (operation: Operation, spoilt?: Spoilt) => Bad }> {
  const name = await service.queue();
  await service.ok("POST", "/v1/schedules", { queue: name, cron: "@yearly", timezone: "UTC" });
  return {
    operations: await operationsOf(service),
    bad: (operation, { query = "", values = {}, ...more } = {}) => {
      const ofSecrets = operation.path.startsWith("/v1/secrets/");
      const path = pathOf(operation, { name: ofSecrets ? "FINE" : name, ...values }) + query;
      return { method: operation.method, path, ...(operation.requestBody && { body: "{}" }), ...more };
    },
  };
}

/** The query parameters that an operation requires, except one. */
const othersNeeded = ({ parameters }: Operation, but: string): string =>
  parameters
    .filter((one) => one.in === "query" && one.required && one.name !== but)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}&`)
    .join("");

test("every parameter has its row here", async ({ service }) => {
  const parameters = (await operationsOf(service)).flatMap((one) => one.parameters);
  const named = (where: string) => [...new Set(parameters.filter((one) => one.in === where).map(({ name }) => name))].sort();
  const rows = { path: Object.keys(PATHS).sort(), query: Object.keys(QUERIES).sort(), header: Object.keys(HEADERS).sort() };
  expect({ path: named("path"), query: named("query"), header: named("header") }).toEqual(rows);
});

test("a path with a malformed name or id is refused", async ({ service }) => {
  const { operations, bad } = await asked(service);
  const requests = operations.flatMap((operation) =>
    operation.parameters
      // The id of a signal may be any text.
      .filter((one) => one.in === "path" && operation.id !== "completeSignal")
      .flatMap(({ name }) => {
        // The values are encoded already, or are meant not to be.
        const { path } = bad(operation, { values: { [name]: "HERE" } });
        return (PATHS[name] ?? []).map((value) => bad(operation, { path: path.replace("HERE", value) }));
      }),
  );
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("a list's malformed parameter is refused by its name", async ({ service }) => {
  const { operations, bad } = await asked(service);
  const requests = operations.flatMap((operation) =>
    operation.parameters
      .filter((one) => one.in === "query")
      .flatMap(({ name }) =>
        (QUERIES[name] ?? []).map((value) =>
          bad(operation, { query: `?${othersNeeded(operation, name)}${name}=${value}`, names: NOT_UTF8.includes(value) ? "" : name }),
        ),
      ),
  );
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("a malformed header is refused by its name", async ({ service }) => {
  const { operations, bad } = await asked(service);
  const requests = operations.flatMap((operation) =>
    operation.parameters
      .filter((one) => one.in === "header")
      .flatMap(({ name }) =>
        (HEADERS[name] ?? []).map((value) =>
          bad(operation, {
            headers: { [name]: value },
            body: BODIES[operation.id] ?? "{}",
            names: name.toLowerCase(),
          }),
        ),
      ),
  );
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("a cursor of another list is refused", async ({ service }) => {
  await service.queue();
  const queue = await service.queue();
  await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, [{ payload: 1 }, { payload: 2 }]);
  const { next_cursor: ofQueues } = await service.ok("GET", "/v1/queues?limit=1");
  const { next_cursor: ofJobs } = await service.ok("GET", `/v1/queues/${queue}/jobs?limit=1`);
  const requests = [
    { method: "GET", path: `/v1/queues?cursor=${ofJobs}`, names: "cursor" },
    { method: "GET", path: `/v1/queues/${queue}/jobs?cursor=${ofQueues}`, names: "cursor" },
    { method: "GET", path: `/v1/approvals?cursor=${ofQueues}`, names: "cursor" },
    { method: "GET", path: `/v1/schedules?cursor=${ofJobs}`, names: "cursor" },
    { method: "GET", path: `/v1/dlq?cursor=${ofQueues}`, names: "cursor" },
    { method: "GET", path: `/v1/secrets?cursor=${ofQueues}`, names: "cursor" },
    { method: "GET", path: `/v1/secrets?cursor=${ofJobs}`, names: "cursor" },
    { method: "GET", path: `/v1/keys?cursor=${ofQueues}`, names: "cursor" },
    { method: "GET", path: `/v1/keys?cursor=${ofJobs}`, names: "cursor" },
    { method: "GET", path: `/v1/audit-events?cursor=${ofQueues}`, names: "cursor" },
    { method: "GET", path: `/v1/audit-events?cursor=${ofJobs}`, names: "cursor" },
  ];
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("an unknown state is refused with the states that there are", async ({ service }) => {
  const path = `/v1/queues/${await service.queue()}/jobs?state=done`;
  const requests = JOB_STATES.map((state) => ({ method: "GET", path, names: "state", says: state }));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("an unknown state of schedules is refused with those that there are", async ({ service }) => {
  const requests = SCHEDULE_STATES.map((state) => ({ method: "GET", path: "/v1/schedules?state=stopped", names: "state", says: state }));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("an unknown query parameter of a list is refused, with the one that was probably meant", async ({ service }) => {
  const { operations, bad } = await asked(service);
  const requests = operations.flatMap((operation) => {
    const names = operation.parameters.filter((one) => one.in === "query").map(({ name }) => name);
    if (names.length === 0) return [];
    const misspelt = names.map((name) => bad(operation, { query: `?${name}x=1`, names: `${name}x`, says: `did you mean "${name}"?` }));
    return [
      ...misspelt,
      ...["__proto__", "constructor", "offset"].map((name) =>
        bad(operation, { query: `?${name}=1`, names: name, says: "is not a known field" }),
      ),
    ];
  });
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("an operation that takes no body refuses one that says something", async ({ service }) => {
  const { operations, bad } = await asked(service);
  const bodyless = operations.filter(({ method, requestBody }) => !requestBody && method !== "GET");
  expect(bodyless.map(({ id }) => id).sort()).toEqual([
    "cancelOperation",
    "cancelRun",
    "deleteJob",
    "deleteQueue",
    "deleteSchedule",
    "deleteSecret",
    "deleteWebhook",
    "deleteWorkflow",
    "pauseSchedule",
    "removeMember",
    "replayDelivery",
    "replayJob",
    "resumeSchedule",
    "retryJob",
    "retryRun",
    "revokeInvitation",
    "revokeKey",
    "testWebhook",
    "triggerSchedule",
  ]);
  const requests = bodyless.flatMap((operation) => [
    bad(operation, { body: '{"delay":5}', names: "delay", says: "is not a known field" }),
    ...["[]", "7", "null", "{", '{"__proto__":{}}'].map((body) => bad(operation, { body })),
    bad(operation, { body: "{}", headers: { "content-type": "text/plain" }, names: "content-type" }),
  ]);
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("a path answers 405 to every method that it has not got, and Allow has those that it has", async ({ service }) => {
  const { operations, bad } = await asked(service);
  const before = await everythingStored(service.database);
  for (const path of new Set(operations.map((one) => one.path))) {
    const of = operations.filter((one) => one.path === path);
    const allowed = of.map(({ method }) => method);
    // HEAD comes with GET: RFC 9110.
    if (allowed.includes("GET")) allowed.push("HEAD");
    for (const method of METHODS.filter((one) => one !== "CONNECT" && !allowed.includes(one))) {
      const { path: to } = bad(of[0] as Operation);
      const reply = await sendRaw(service.node.url, { method, path: to, headers: { authorization: `Bearer ${service.key}` } });
      expect([method, to, reply.headers.get("allow")?.split(", ").sort(), reply.status]).toEqual([method, to, allowed.sort(), 405]);
      if (method !== "HEAD") expect([method, to, ...faultsOf(reply, "METHOD_NOT_ALLOWED")]).toEqual([method, to]);
    }
  }
  expect(await everythingStored(service.database)).toEqual(before);
});

test("the paths beside /v1 have 405 too", async ({ service }) => {
  for (const path of ["/doc", "/healthz", "/readyz"]) {
    const reply = await service.api("POST", path, "{}");
    expect([path, ...faultsOf(reply, "METHOD_NOT_ALLOWED"), reply.headers.get("allow")]).toEqual([path, "GET, HEAD"]);
  }
});

test("a method that no path has is refused as one that another path has", async ({ service }) => {
  const keyed = { authorization: `Bearer ${service.key}` };
  const cases: readonly (readonly [path: string, headers: Record<string, string>])[] = [
    ["/v1/queues/unknown?limit=1", keyed],
    ["/v1/queues/unknown", {}],
    ["/v1/queues/unknown", { authorization: "Bearer svc_ws_unknown" }],
    ["/v1/quues", keyed],
    ["/v1/quues", {}],
    ["/v1/workspaces", keyed],
    ["/v1/queues/%zz", keyed],
    ["/docs/static/unknown.js", {}],
    ["/dashboard/unknown", {}],
  ];
  for (const [path, headers] of cases) {
    const [known, other] = await Promise.all(["PUT", "PROPFIND"].map((method) => sendRaw(service.node.url, { method, path, headers })));
    expect([path, other?.status, other?.headers.get("allow")]).toEqual([path, known?.status, known?.headers.get("allow")]);
  }
});

test("HEAD answers as GET does, without the body", async ({ service }) => {
  await service.queue();
  const [got, head] = await Promise.all([service.api("GET", "/v1/queues"), service.api("HEAD", "/v1/queues")]);
  expect(head).toMatchObject({ status: 200, text: "" });
  expect(head.headers.get("content-length")).toBe(got.headers.get("content-length"));
});

test("a path that does not exist is 404", async ({ service }) => {
  const paths = [
    "/",
    "/v1",
    "/v1/",
    "/v1/nope",
    "/v2/queues",
    "/V1/queues",
    "/v1/queues/a/b/c/d",
    "//v1/queues",
    "/v1/queues/../dlq",
    "/admin/v1/workspaces",
    "/metrics",
    "*",
  ];
  const requests = paths.flatMap((path) => ["GET", "POST", "DELETE"].map((method) => ({ method, path })));
  expect(await complaintsAbout(service, "NOT_FOUND", requests)).toEqual([]);
});
