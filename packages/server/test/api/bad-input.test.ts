import { LIMITS } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { bodySchemaOf, type Operation, operationsOf, pathOf, type Schema } from "../harness/api-doc.ts";
import { type Bad, complaintsAbout } from "../harness/problem.ts";
import { type Service, test } from "../harness/service.ts";

/** JSON texts, not values: 1e400 and lone surrogates must be sent as they are written here. */
type Texts = readonly string[];

const text = (length: number): string => `"${"x".repeat(length)}"`;
const NO_TEXT = ["7", "true", "null", "[]", "{}"];
const UNSTORABLE = [String.raw`"a\u0000b"`, String.raw`"\ud800"`, String.raw`"a\udfffb"`];
const NO_INTEGER = [
  "1.5",
  '"1"',
  '""',
  "true",
  "null",
  "[]",
  "{}",
  "1e400",
  "-1e400",
  "9223372036854775808",
  "-9223372036854775809",
  "1e308",
];
const NO_BOOLEAN = ['"true"', "1", "0", "null", "[]", "{}"];
const NO_OBJECT = ["7", '"{}"', "true", "null", "[]"];
// biome-ignore format: a table
const NO_MOMENT = [
  ...NO_TEXT, '""', '"now"', '"2026-11-21"', '"2026-11-21T12:00:00"', '"2026-02-30T12:00:00Z"', '"2026-11-21T25:00:00Z"', '"2026-13-01T00:00:00Z"',
  '"1969-12-31T23:59:59Z"', '"2026-11-21T12:00:00+16:00"', '"-infinity"', '"infinity"', String.raw`"2026-11-21T12:00:00Z\u0000"`, text(1_000),
];

const options = {
  defaultJobOptions: NO_OBJECT,
  "defaultJobOptions.attempts": [...NO_INTEGER, "0", "-1", "101"],
  "defaultJobOptions.backoff": NO_OBJECT,
  "defaultJobOptions.backoff.type": [...NO_TEXT, '"linear"', '""'],
  "defaultJobOptions.backoff.delay": [...NO_INTEGER, "-1", "86400001"],
};
// biome-ignore format: a table
const settings = {
  callback_url: [
    ...NO_TEXT.filter((one) => one !== "null"), ...UNSTORABLE, '""', '"example.com/x"', '"/x"', '"ftp://example.com/"', '"javascript:1"', '"file:///etc/passwd"',
    '"http://"', '"http://u:p@example.com/"', '"http://u@example.com/"', '"http://example.com/#f"', '"http://exa mple.com/"', String.raw`"http://example.com/\n"`,
    String.raw`"http://example.com/\u0000"`, String.raw`"http://example.com/\ud800"`, '"http://[::1/"', '"http://example.com:99999/"', `"http://example.com/${"x".repeat(2_048)}"`,
  ],
  callback_headers: [
    ...NO_OBJECT, '{"a":7}', '{"a":null}', '{"a":["x"]}', '{"":"x"}', '{"a b":"x"}', '{"a:":"x"}', String.raw`{"a\u0000":"x"}`, '{"é":"x"}',
    '{"Host":"x"}', '{"content-length":"1"}', '{"Transfer-Encoding":"x"}', '{"X-Service-Signature":"x"}', '{"connection":"x"}',
    String.raw`{"a":"x\r\ny: z"}`, String.raw`{"a":"\u0000"}`, '{"a":"€"}', String.raw`{"a":"\ud800"}`, `{"a":${text(4_097)}}`, `{${text(257)}:"x"}`,
    `{${Array.from({ length: 51 }, (_, n) => `"h${n}":"x"`).join()}}`,
  ],
  callback_timeout: [...NO_INTEGER, "0", "-1", "901"],
  concurrency: [...NO_INTEGER.filter((one) => one !== "null"), "0", "-1", "100001"],
  concurrency_per_key: [...NO_INTEGER, "0", "-1", "1001"],
  rate_limit: [
    ...NO_OBJECT.filter((one) => one !== "null"), "{}", '{"max":1}', '{"per_seconds":1}', '{"max":0,"per_seconds":1}', '{"max":1000001,"per_seconds":1}', '{"max":1,"per_seconds":0}',
    '{"max":1,"per_seconds":86401}', '{"max":"1","per_seconds":1}', '{"max":1,"per_seconds":1.5}', '{"max":null,"per_seconds":1}', '{"max":1,"per_seconds":1,"x":1}',
  ],
  // Valid values are allowed only for approval queues.
  approval: [
    ...NO_OBJECT.filter((one) => one !== "null"), '{"timeout":0}', '{"timeout":-1}', '{"timeout":1.5}', '{"timeout":"1"}', '{"timeout":31536001}', '{"on_timeout":"nope"}', '{"on_timeout":null}',
    '{"on_timeout":""}', '{"x":1}', "{}", '{"timeout":null}', '{"timeout":60,"on_timeout":"approve"}',
  ],
  paused: NO_BOOLEAN,
  ...options,
};
const job = {
  delay: [...NO_INTEGER, "-1", "31536001"],
  run_at: [...NO_MOMENT, '"2027-11-22T12:00:01Z"', '"9999-12-31T23:59:59Z"'],
  tag: [...NO_TEXT, ...UNSTORABLE, '""', text(129)],
  priority: [...NO_INTEGER, "-101", "101"],
  concurrencyKey: [...NO_TEXT, ...UNSTORABLE, '""', text(257)],
  attempts: [...NO_INTEGER, "0", "-1", "101"],
  backoff: NO_OBJECT,
  "backoff.type": [...NO_TEXT, '"linear"'],
  "backoff.delay": [...NO_INTEGER, "-1", "86400001"],
  idempotencyKey: [...NO_TEXT, ...UNSTORABLE, '""', text(257)],
};
// biome-ignore format: a table
const schedule = {
  queue: [...NO_TEXT, ...UNSTORABLE, '""', '"-a"', '"a b"', text(129)],
  cron: [
    ...NO_TEXT, ...UNSTORABLE, '""', '" "', '"* * * *"', '"* * * * * * *"', '"60 * * * *"', '"* 24 * * *"', '"* * 32 * *"', '"* * * 13 *"', '"* * * * 8"', '"30 2 30 2 *"',
    '"0 0 31 4 *"', '"? * * * *"', '"@never"', '"@Daily"', '"@reboot"', '"every minute"', '"*/0 * * * *"', '"5-1 * * * *"', String.raw`"* * * * *\n"`, text(257),
  ],
  timezone: [
    ...NO_TEXT, ...UNSTORABLE, '""', '" "', '"Nowhere"', '"Europe/Atlantis"', '"+01:00"', '"UTC+1"', '"Europe"', '"local"', '"../../etc/localtime"', '"Europe/Berlin "', text(65),
  ],
  payload: [],
  tag: [...NO_TEXT.filter((one) => one !== "null"), ...UNSTORABLE, '""', text(129)],
  priority: job.priority,
  concurrencyKey: [...NO_TEXT.filter((one) => one !== "null"), ...UNSTORABLE, '""', text(257)],
  attempts: job.attempts.filter((one) => one !== "null"),
  overlap: [...NO_TEXT, '"Allow"', '""', '"queue"'],
  catch_up: [...NO_TEXT, '"first"', '""', '"None"'],
};
const BY = [...NO_TEXT, ...UNSTORABLE, '""', text(257)];
const WORDS = [...NO_TEXT, ...UNSTORABLE, text(4_097)];
const NO_VALUE = [...NO_TEXT, ...UNSTORABLE, '""'];
const NO_LIST = ["7", '"x"', "true", "{}", '"[]"'];
const restrictions = {
  allowed_queues: [...NO_LIST, "[7]", '[""]', '["-a"]', '["a","a"]', `[${text(129)}]`, "[null]"],
  allowed_hosts: [
    ...NO_LIST,
    "[7]",
    '[""]',
    '["*"]',
    '["a:1"]',
    '["http://a"]',
    '["a","a"]',
    String.raw`["a\u0000"]`,
    `[${text(254)}]`,
    "[null]",
  ],
};
const NAME = [...NO_TEXT, ...UNSTORABLE, '""', '"-a"', '".a"', '"_a"', '"a b"', '"a/b"', '"é"', String.raw`"a\n"`, text(129)];
const webhook = {
  url: [...settings.callback_url, "null"],
  events: [...NO_LIST, "null", "[]", "[7]", "[null]", '[""]', '["job.done"]', '["Job.failed"]', '["job.failed","job.failed"]'],
  headers: settings.callback_headers,
};
const filter = { tag: [...NO_TEXT, ...UNSTORABLE, text(129)] };
const FINGERPRINT = [...NO_TEXT, ...UNSTORABLE, '""', '"x"', '"5F1C0A9B3E7D2468"', '"5f1c0a9b3e7d246"', '"5f1c0a9b3e7d24681"'];
const deadLetters = {
  ...filter,
  queue: [...NO_TEXT, ...UNSTORABLE],
  error: [...NO_TEXT, '"NOPE"', '"timeout"', '""'],
  fingerprint: FINGERPRINT,
};
const JOB = '"job_01kajv3k4ve6nsd9z5kgtzx0rw"';
const NO_JOB = [
  '""',
  '"x"',
  '"job_1"',
  '"JOB_01kajv3k4ve6nsd9z5kgtzx0rw"',
  '"job_81kajv3k4ve6nsd9z5kgtzx0rw"',
  '"run_01kajv3k4ve6nsd9z5kgtzx0rw"',
];
const jobsOfAllQueues = {
  filter: NO_OBJECT,
  "filter.state": [...NO_TEXT, ...UNSTORABLE, '""', '"nope"', '"Waiting"', '"waiting,"', '"waiting,nope"'],
  "filter.queue": [...NO_TEXT, ...UNSTORABLE],
  "filter.tag": [...NO_TEXT, ...UNSTORABLE],
  "filter.concurrency_key": [...NO_TEXT, ...UNSTORABLE],
  "filter.error_code": [...NO_TEXT, ...UNSTORABLE, '""', '"NOPE"', '"timeout"', '"TIMEOUT,"'],
  "filter.fingerprint": FINGERPRINT,
  "filter.created_after": NO_MOMENT,
  "filter.created_before": NO_MOMENT,
  "filter.id": [...NO_TEXT, ...UNSTORABLE, ...NO_JOB, `"${Array.from({ length: 101 }, () => JOB.slice(1, -1)).join()}"`],
  "filter.payload_contains": [...NO_TEXT, ...UNSTORABLE, '""', text(257)],
  ids: [
    ...NO_LIST,
    "null",
    "[]",
    "[7]",
    "[null]",
    ...NO_JOB.map((one) => `[${JOB},${one}]`),
    `[${Array.from({ length: LIMITS.operationIds + 1 }, () => JOB).join()}]`,
  ],
};
const PERSON_ROLE = [...NO_TEXT, '""', '"owner"', '"Admin"', '"worker"', '"read,write"'];

/**
 * What each operation with a JSON body takes, and for each field what it refuses there. `around` puts a job among others, so
 * that one bad job refuses them all.
 */
interface Row {
  readonly good: Record<string, string>;
  readonly fields: Record<string, Texts>;
  readonly around?: { readonly before: string; readonly after: string; readonly path: string };
}
const LEASE = [...NO_INTEGER, "0", "-1", "43201"];
const WAIT = [...NO_INTEGER, "-1", "31"];
const WORKER = [...NO_TEXT, ...UNSTORABLE, '""', text(129)];
const TOKEN = [...NO_TEXT, '""', '"a b"', '"é"', text(121)];
const NO_QUEUES = [...NO_LIST, "null", "[7]", '[""]', '["-a"]', '["a","a"]', `[${text(129)}]`, "[null]"];
const outcome = {
  error: [...NO_TEXT, ...UNSTORABLE, '""'],
  retry: NO_BOOLEAN,
  retry_in: [...NO_INTEGER, "-1", "31536001"],
};
const EVENT = [...NO_TEXT, ...UNSTORABLE, '""', '"a/b"', '"A"', '"a."', '".a"', '"a..b"', '"a b"', '"é"', String.raw`"a\n"`, text(129)];
const TS = ['"1"', "true", "null", "[]", "{}", "-1", "1e400", "8640000000000001"];
const ROWS: Record<string, Row> = {
  work: {
    good: { worker: '"w1"' },
    fields: {
      worker: WORKER,
      queues: [...NO_QUEUES, `[${Array.from({ length: 101 }, (_, n) => `"q${n}"`).join()}]`],
      limit: [...NO_INTEGER, "0", "-1", "501"],
      lease: LEASE,
      wait: WAIT,
      version: [...NO_TEXT, ...UNSTORABLE, '""', text(65)],
      request: [...NO_TEXT, ...UNSTORABLE, '""', text(65)],
      workflows: [...NO_QUEUES, `[${Array.from({ length: 101 }, (_, n) => `"w${n}"`).join()}]`],
      repeat: NO_BOOLEAN,
      settle: NO_LIST,
    },
  },
  putWorkflow: {
    good: { cron: '"0 9 * * *"', timezone: '"UTC"' },
    fields: {
      attempts: job.attempts,
      backoff: job.backoff,
      "backoff.type": job["backoff.type"],
      "backoff.delay": job["backoff.delay"],
      concurrency: settings.concurrency,
      version: [...NO_TEXT.filter((one) => one !== "null"), ...UNSTORABLE, '""', text(65)],
      events: [
        ...NO_LIST,
        "null",
        "[7]",
        '[""]',
        '["a/b"]',
        '["A"]',
        '["a","a"]',
        `[${Array.from({ length: 101 }, (_, n) => `"e${n}"`).join()}]`,
      ],
      hooks: [...NO_LIST, "null", "[7]", '["onStart"]', '["onCancel","onCancel"]'],
      endpoint_url: [...settings.callback_url, `"https://example.com/\${{ secrets.TOKEN }}"`, '"http://10.0.0.1/"', '"http://[fe80::1]/"'],
      endpoint_timeout: settings.callback_timeout,
      endpoint_secret: [...NO_TEXT, ...UNSTORABLE, '""', '"cbs_x"', `"cbs_${"!".repeat(43)}"`, `"CBS_${"x".repeat(43)}"`],
      rotate_endpoint_secret: NO_BOOLEAN,
      cron: schedule.cron.filter((one) => one !== "null"),
      timezone: schedule.timezone.filter((one) => one !== "null"),
    },
  },
  sendEvent: { good: { name: '"a"' }, fields: { name: EVENT, data: [], ts: TS, idempotencyKey: job.idempotencyKey } },
  sendStepEvent: {
    good: { lease_token: '"a"', key: '"k"', name: '"a"' },
    fields: { lease_token: TOKEN, key: [...NO_TEXT, ...UNSTORABLE, '""', text(257)], name: EVENT, data: [], ts: TS },
  },
  registerSignal: {
    good: { lease_token: '"a"', key: '"k"', signal: '"s"' },
    fields: {
      lease_token: TOKEN,
      key: [...NO_TEXT, ...UNSTORABLE, '""', text(257)],
      signal: [...NO_TEXT, ...UNSTORABLE, '""', text(257)],
    },
  },
  invokeWorkflow: {
    good: { lease_token: '"a"', key: '"k"', workflow: '"w"', timeout: "1" },
    fields: {
      lease_token: TOKEN,
      key: [...NO_TEXT, ...UNSTORABLE, '""', text(257)],
      workflow: [...NO_TEXT, ...UNSTORABLE, '""', '"-a"', '"a b"', '"a/b"', text(129)],
      input: [],
      timeout: [...NO_INTEGER, "0", "-1", "86400001"],
    },
  },
  triggerWorkflow: {
    good: {},
    fields: { input: [], idempotencyKey: [...NO_TEXT, ...UNSTORABLE, '""', text(257)], delay: [...NO_INTEGER, "-1", "31536001"] },
  },
  triggerWorkflowMany: {
    good: { triggers: "[{}]" },
    fields: { triggers: [...NO_LIST, "null", "[]", "[7]", '[{"delay":-1}]', '[{"idempotencykey":"k"}]'] },
  },
  reportSteps: {
    good: { lease_token: '"a"', steps: '[{"key":"a","type":"run","status":"completed"}]' },
    fields: { lease_token: TOKEN, steps: [...NO_LIST, "null", "[]", "[7]", "[{}]"], progress: ["1e400", '{"of":[-1e400]}'] },
  },
  reportStepsOfRuns: {
    good: { reports: '[{"id":"run_01kajv3k4ve6nsd9z5kgtzx0rw","lease_token":"a","progress":1}]' },
    fields: {
      reports: [...NO_LIST, "null", "[]", "[7]", "[{}]"],
      steps: [...NO_LIST, "null", "[]", "[7]", "[{}]", '[{"report":1,"key":"a","type":"run","status":"completed"}]'],
    },
  },
  extendLeases: {
    good: { leases: '[{"id":"job_01kajv3k4ve6nsd9z5kgtzx0rw","lease_token":"a"}]' },
    fields: { worker: WORKER, leases: [...NO_LIST, "null", "[]"], lease: LEASE, wait: WAIT },
  },
  claimJobs: { good: { worker: '"w1"' }, fields: { worker: WORKER, limit: [...NO_INTEGER, "0", "-1", "501"], lease: LEASE, wait: WAIT } },
  completeJob: { good: { lease_token: '"a"' }, fields: { lease_token: TOKEN, result: [] } },
  failJob: { good: { lease_token: '"a"' }, fields: { lease_token: TOKEN, ...outcome } },
  heartbeatJob: { good: { lease_token: '"a"' }, fields: { lease_token: TOKEN, lease: LEASE } },
  createQueue: {
    good: { name: '"fine"' },
    fields: {
      ...settings,
      name: NAME,
      type: [...NO_TEXT, '"nope"', '""'],
    },
  },
  patchQueue: { good: {}, fields: { ...settings, rotate_callback_secret: NO_BOOLEAN } },
  enqueueJob: { good: { payload: "1" }, fields: { ...job, payload: [] } },
  enqueueBatch: {
    good: { payload: "1" },
    fields: { ...job, payload: [] },
    around: { before: '{"jobs":[{"payload":1},', after: "]}", path: "jobs[1]." },
  },
  approveJob: { good: {}, fields: { by: BY, comment: WORDS } },
  rejectJob: { good: {}, fields: { by: BY, reason: WORDS } },
  createWebhook: {
    good: { name: '"fine"', url: '"https://example.com/events"', events: '["job.failed"]' },
    fields: { name: NAME, ...webhook },
  },
  patchWebhook: { good: {}, fields: { ...webhook, enabled: NO_BOOLEAN, rotate_secret: NO_BOOLEAN } },
  createSecret: {
    good: { name: '"FINE"', value: '"fine"' },
    fields: {
      ...restrictions,
      name: [...NO_TEXT, ...UNSTORABLE, '""', '"a"', '"Ab"', '"1A"', '"_A"', '"A-B"', '"É"', String.raw`"A\n"`, text(129)],
      value: NO_VALUE,
    },
  },
  patchSecret: { good: {}, fields: { ...restrictions, value: NO_VALUE } },
  markDeploy: {
    good: { name: '"fine"', version: '"v1"' },
    fields: { name: [...NO_TEXT, ...UNSTORABLE, '""', text(129)], version: [...NO_TEXT, ...UNSTORABLE, '""', text(129)] },
  },
  createKey: {
    good: { name: '"fine"' },
    fields: {
      name: [...NO_TEXT, ...UNSTORABLE, '""', text(129)],
      role: [...NO_TEXT, '"owner"', '"Admin"', '""'],
      queues: [...NO_QUEUES.filter((one) => one !== "null"), "[]"],
      workflows: [...NO_QUEUES.filter((one) => one !== "null"), "[]"],
      expires_at: [...NO_MOMENT.filter((one) => one !== "null"), '"2026-11-21T12:00:00Z"', '"2020-01-01T00:00:00Z"'],
    },
  },
  createSchedule: {
    good: { queue: '"queue-1"', cron: '"@daily"', timezone: '"UTC"' },
    fields: {
      ...schedule,
      name: [...NO_TEXT, ...UNSTORABLE, '""', '"-a"', '".a"', '"a b"', '"a/b"', '"é"', '"preview"', text(129)],
    },
  },
  patchSchedule: { good: {}, fields: schedule },
  // Either of the two is required: a test below.
  retryJobs: { good: {}, fields: jobsOfAllQueues },
  cancelJobs: { good: {}, fields: jobsOfAllQueues },
  removeJobs: { good: {}, fields: jobsOfAllQueues },
  addMember: {
    good: { id: '"usr_01kajv3k4ve6nsd9z5kgtzx0rw"', role: '"read"' },
    fields: {
      id: [...NO_TEXT, ...UNSTORABLE, '""', '"x"', '"usr_1"', '"usr_81kajv3k4ve6nsd9z5kgtzx0rw"', '"key_01kajv3k4ve6nsd9z5kgtzx0rw"'],
      role: PERSON_ROLE,
    },
  },
  updateMember: { good: { role: '"read"' }, fields: { role: PERSON_ROLE } },
  createInvitation: {
    good: { role: '"read"' },
    fields: {
      role: PERSON_ROLE,
      email: [
        ...NO_TEXT.filter((one) => one !== "null"),
        ...UNSTORABLE,
        '""',
        '"ada"',
        '"@example.com"',
        '"ada@"',
        '"a b@example.com"',
        '"ada@example.com,eve@example.com"',
        String.raw`"ada@example.com\r\nBcc: eve@example.com"`,
        `"${"x".repeat(250)}@example.com"`,
      ],
    },
  },
  retryAll: { good: {}, fields: { ...filter, failed_before: NO_MOMENT, failed_after: NO_MOMENT } },
  retryDeadLetters: { good: {}, fields: deadLetters },
  purgeDeadLetters: { good: {}, fields: deadLetters },
};
const ids = Object.keys(ROWS);

async function setUp(
  service: Service,
  id: string,
): Promise<{
  operation: Operation;
  row: Row;
  body: (members: string) => string;
  bad: (body: string | Buffer, more?: Partial<Bad>) => Bad;
}> {
  const operation = (await operationsOf(service)).find((one) => one.id === id) as Operation;
  const name = await service.queue();
  await service.ok("POST", "/v1/schedules", { queue: name, cron: "@yearly", timezone: "UTC" });
  const path = pathOf(operation, { name: operation.path.startsWith("/v1/secrets/") ? "FINE" : name });
  const row = ROWS[id] as Row;
  const { before, after } = row.around ?? { before: "", after: "" };
  const body = (members: string) => `${before}{${members}}${after}`;
  return { operation, row, body, bad: (sent, more = {}) => ({ method: operation.method, path, body: sent, ...more }) };
}

/** A valid body with one field replaced by another JSON text. `undefined` leaves the field out. */
function members(good: Record<string, string>, path: string, value: string | undefined): string {
  const [name = "", ...deeper] = path.split(".");
  const rest = Object.entries(good).filter(([other]) => other !== name);
  const nested = value && deeper.reduceRight((inner, one) => `{"${one}":${inner}}`, value);
  return [...rest, ...(nested === undefined ? [] : [[name, nested]])].map(([key, one]) => `"${key}":${one}`).join();
}

/** The paths of all fields of an object's schema, "backoff.delay" among them. */
const fieldsOf = ({ properties = {} }: Schema): string[] =>
  Object.entries(properties as Record<string, Schema>).flatMap(([name, schema]) => [
    name,
    ...fieldsOf(schema).map((inner) => `${name}.${inner}`),
  ]);

const objectSchema = (operation: Operation): Schema => {
  const schema = bodySchemaOf(operation);
  return schema.anyOf ? schema.anyOf.find((one: Schema) => one.type === "array").items : schema;
};

test("every operation with a body has its row, and every field of it", async ({ service }) => {
  const documented = (await operationsOf(service))
    // The body of a completion is any value.
    .filter(({ requestBody, id }) => requestBody && id !== "completeSignal")
    .map((operation) => [operation.id, fieldsOf(objectSchema(operation)).sort()]);
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(ids.map((id) => [id, Object.keys(ROWS[id]?.fields ?? {}).sort()])));
});

describe.each(ids)("%s refuses", (id) => {
  test("every operation refuses every value that a field does not take, and names the field", async ({ service }) => {
    const { row, body, bad } = await setUp(service, id);
    const requests = Object.entries(row.fields).flatMap(([path, values]) =>
      values.map((value) => bad(body(members(row.good, path, value)), { names: `${row.around?.path ?? ""}${path}` })),
    );
    expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
  });

  test("every operation refuses unknown fields at every depth, and names the field that was probably meant", async ({ service }) => {
    const { operation, row, body, bad } = await setUp(service, id);
    const at = row.around?.path ?? "";
    const misspelt = fieldsOf(objectSchema(operation)).map((path) => {
      const name = path.split(".").at(-1);
      return bad(body(members(row.good, `${path}x`, "1")), { names: `${at}${path}x`, says: `did you mean "${name}"?` });
    });
    const required = Object.keys(row.good).map((path) => {
      const { [path]: _, ...others } = row.good;
      return bad(body(members(others, `${path}x`, "1")), { names: `${at}${path}x`, says: `did you mean "${path}"?` });
    });
    const strange = ["toString", "hasOwnProperty", "constructor", "quite-another"].map((name) =>
      bad(body(members(row.good, name, "1")), { names: `${at}${name}`, says: "is not a known field" }),
    );
    expect(await complaintsAbout(service, "VALIDATION_ERROR", [...misspelt, ...required, ...strange])).toEqual([]);
  });

  test("every operation refuses members that would poison a prototype, spelled with escapes too", async ({ service }) => {
    const { row, body, bad } = await setUp(service, id);
    const poison = [
      '"__proto__":{"polluted":1}',
      '"__proto__":null',
      String.raw`"\u005f_proto__":{}`,
      '"constructor":{"prototype":{"polluted":1}}',
      '"x":{"__proto__":1}',
    ];
    const good = members(row.good, "", undefined);
    expect(
      await complaintsAbout(
        service,
        "VALIDATION_ERROR",
        poison.map((one) => bad(body([good, one].filter(Boolean).join()))),
      ),
    ).toEqual([]);
    expect({}).not.toHaveProperty("polluted");
  });

  test("every operation refuses a field given twice when its last value is bad", async ({ service }) => {
    const { row, body, bad } = await setUp(service, id);
    const [name, values] = Object.entries(row.fields).find(([path, texts]) => !path.includes(".") && texts.length > 0) as [string, Texts];
    const twice = [members(row.good, "", undefined), `"${name}":1`, `"${name}":${values[0]}`].filter(Boolean).join();
    expect(await complaintsAbout(service, "VALIDATION_ERROR", [bad(body(twice))])).toEqual([]);
  });
});

test.for(ids.filter((id) => Object.keys((ROWS[id] as Row).good).length > 0))(
  "a request without a required field is told which one is missing: %s",
  async (id, { service }) => {
    const { row, body, bad } = await setUp(service, id);
    const missing = Object.keys(row.good).map((path) =>
      bad(body(members(row.good, path, undefined)), { names: `${row.around?.path ?? ""}${path}`, says: "is required" }),
    );
    expect(await complaintsAbout(service, "VALIDATION_ERROR", missing)).toEqual([]);
  },
);

test("a change of many jobs is for those of a filter or those with ids, and for states that it changes", async ({ service }) => {
  const post = (action: string, body: string, names: string, says: string) => ({
    method: "POST",
    path: `/v1/jobs/${action}`,
    body,
    names,
    says,
  });
  const requests = ["retry", "cancel", "remove"].flatMap((action) => [
    post(action, "{}", "", "filter or ids"),
    post(action, `{"filter":{},"ids":[${JOB}]}`, "", "filter or ids"),
    post(action, '{"filter":{"quue":"a"}}', "filter.quue", 'did you mean "queue"?'),
    post(action, '{"filter":{"toString":"a"}}', "filter.toString", "is not a known field"),
    post(action, `{"ids":[${JOB}],"dry_run":true}`, "dry_run", "is not a known field"),
    { method: "POST", path: `/v1/jobs/${action}`, body: `{"ids":[${JOB}],"__proto__":{"polluted":1}}` },
    { method: "POST", path: `/v1/jobs/${action}`, body: '{"filter":{"__proto__":{"polluted":1}}}' },
    { method: "POST", path: `/v1/jobs/${action}`, body: '{"filter":{"constructor":{"prototype":{}}}}' },
  ]);
  const states = [
    post("retry", '{"filter":{"state":"completed,waiting"}}', "filter.state", "failed"),
    post("cancel", '{"filter":{"state":"completed"}}', "filter.state", "waiting"),
    post("remove", '{"filter":{"state":"active"}}', "filter.state", "completed"),
  ];
  expect(await complaintsAbout(service, "VALIDATION_ERROR", [...requests, ...states])).toEqual([]);
});

test("a job is due either after a delay or at a moment", async ({ service }) => {
  const path = `/v1/queues/${await service.queue()}/jobs`;
  const both = { method: "POST", path, body: '{"payload":1,"delay":1,"run_at":"2026-11-21T13:00:00Z"}', names: "run_at", says: "delay" };
  expect(await complaintsAbout(service, "VALIDATION_ERROR", [both])).toEqual([]);
});

test("a batch is an array of 1 to 1,000 jobs, bare or as `jobs`, and one bad job refuses all", async ({ service }) => {
  const path = `/v1/queues/${await service.queue()}/jobs/batch`;
  const jobs = (count: number) => `[${Array.from({ length: count }, () => '{"payload":1}').join()}]`;
  const bodies: [string, string][] = [
    ["[]", ""],
    ['{"jobs":[]}', "jobs"],
    [jobs(1_001), ""],
    [`{"jobs":${jobs(1_001)}}`, "jobs"],
    ['{"jobs":{}}', "jobs"],
    ['{"jobs":null}', "jobs"],
    ["{}", "jobs"],
    ['{"payload":1}', "jobs"],
    ['[{"payload":1},7]', "[1]"],
    ['[{"payload":1},null]', "[1]"],
    ['[{"payload":1},{}]', "[1].payload"],
    ['[[{"payload":1}]]', "[0]"],
    ['{"jobs":[{"payload":1}],"job":1}', "job"],
    ['{"jobs":[{"payload":1}],"jobs":[{}]}', "jobs[0].payload"],
  ];
  const requests = bodies.map(([body, names]) => ({ method: "POST", path, body, names }));
  expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
});

test("the last values before each limit are taken", async ({ service }) => {
  const queue = (settings: Record<string, unknown>) => service.ok("POST", "/v1/queues", settings);
  await queue({ name: `a${"-._x".repeat(31)}xyz`, callback_timeout: 1, defaultJobOptions: { attempts: 1, backoff: { delay: 0 } } });
  const name = "9";
  await queue({ name, callback_timeout: 900, defaultJobOptions: { attempts: 100, backoff: { type: "exponential", delay: 86_400_000 } } });
  const headers = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`h${n}`, n === 0 ? "x".repeat(4_096) : ""]));
  const callback_url = `http://example.com/${"x".repeat(2_048 - "http://example.com/".length)}`;
  expect(await service.ok("PATCH", `/v1/queues/${name}`, { callback_headers: headers, callback_url, paused: true })).toMatchObject({
    callback_headers: headers,
    callback_url,
  });
  const jobs = [
    { payload: null, delay: 0, priority: -100, attempts: 1, backoff: { delay: 0 }, tag: "x", concurrencyKey: "x", idempotencyKey: "x" },
    {
      payload: null,
      delay: 31_536_000,
      priority: 100,
      attempts: 100,
      backoff: { delay: 86_400_000 },
      tag: "😀".repeat(64),
      concurrencyKey: "é".repeat(256),
    },
    { payload: null, run_at: "2027-11-21T12:00:00Z" },
    { payload: null, run_at: "1970-01-01T00:00:00+15:59" },
  ];
  const { jobs: made } = await service.ok("POST", `/v1/queues/${name}/jobs/batch`, jobs);
  expect(made).toMatchObject([
    { priority: -100, attempts: 1, tag: "x", concurrencyKey: "x" },
    { priority: 100, attempts: 100, tag: jobs[1]?.tag, concurrencyKey: jobs[1]?.concurrencyKey, run_at: "2027-11-21T12:00:00.000Z" },
    { run_at: "2027-11-21T12:00:00.000Z", state: "delayed" },
    { state: "waiting" },
  ]);
});
