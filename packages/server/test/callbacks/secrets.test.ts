import { describe, expect } from "vitest";
import { isSigned } from "../harness/handler.ts";
import { joinedBy } from "../harness/nodes.ts";
import { newWorkspace, Service, test, until } from "../harness/service.ts";

const put = (service: Service, name: string, value: string, rest: object = {}) =>
  service.ok("POST", "/v1/secrets", { name, value, ...rest });

/** A job's record after its last attempt, when it is no longer active. */
async function ended(service: Service, job: { id: string; queue: string }) {
  await until(async () => !["waiting", "active"].includes((await service.job(job)).state), `an end of job ${job.id}`);
  return service.job(job);
}

describe("templates", () => {
  test("templates are filled in where they stand: path, query, headers and payload, under the signature", async ({ service }) => {
    const handler = await service.handler();
    await put(service, "TOKEN", "s3cr3t");
    await put(service, "ACCOUNT", "acct/1 & co");
    const url = `${handler.url}/\${{ secrets.ACCOUNT }}/in?key=\${{secrets.TOKEN}}&x=1`;
    const callback_headers = { authorization: "Bearer ${{ secrets.TOKEN }}", "x-both": "${{ secrets.TOKEN }}:${{ secrets.ACCOUNT }}" };
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_url: url, callback_headers });
    const payload = { auth: { token: "${{ secrets.TOKEN }}" }, list: ["<${{ secrets.ACCOUNT }}>", 1, null], plain: "$ {{ }}" };
    const job = await service.enqueue({ queue: handler.queue, payload });
    expect((await ended(service, job)).state).toBe("completed");
    const [received] = handler.received;
    expect(received?.path).toBe("/callback/acct%2F1%20%26%20co/in?key=s3cr3t&x=1");
    expect(received?.headers).toMatchObject({ authorization: "Bearer s3cr3t", "x-both": "s3cr3t:acct/1 & co" });
    expect(received?.body.payload).toEqual({ auth: { token: "s3cr3t" }, list: ["<acct/1 & co>", 1, null], plain: "$ {{ }}" });
    expect(received && isSigned(received, handler.secret)).toBe(true);
    expect(await service.job(job)).toMatchObject({ payload });
    expect(await service.ok("GET", `/v1/queues/${handler.queue}`)).toMatchObject({ callback_url: url, callback_headers });
  });

  test.for([
    ["quotes and braces", '"},"admin":true,"x":{"y":"'],
    ["another template", "${{ secrets.OTHER }}"],
    ["the end of a template", "}} }}"],
    ["line breaks", "one\r\ntwo\n"],
    ["what an address is made of", "../../admin?x=1&y=2#z%2e%2e/\\"],
    ["letters from everywhere", "ключ 🔑 \u2028"],
  ])("a value with %s breaks out of nothing", async ([, value = ""], { service }) => {
    const handler = await service.handler();
    await put(service, "VALUE", value);
    await put(service, "OTHER", "never");
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, {
      callback_url: `${handler.url}/\${{ secrets.VALUE }}/end?q=\${{ secrets.VALUE }}`,
    });
    await ended(service, await service.enqueue({ queue: handler.queue, payload: { value: "<${{ secrets.VALUE }}>", after: 1 } }));
    const { path = "", body } = handler.received[0] ?? {};
    expect(body?.payload).toEqual({ value: `<${value}>`, after: 1 });
    const read = new URL(path, handler.url);
    const segments = read.pathname.split("/");
    expect([segments.length, decodeURIComponent(segments[2] ?? ""), segments[3]]).toEqual([4, value, "end"]);
    expect([...read.searchParams]).toEqual([["q", value]]);
  });

  test.for([
    [
      "a header",
      { callback_headers: { "x-a": "${{ secrets.VALUE }}" } },
      "one\r\nx-admin: true",
      "The header x-a has a secret with characters that a header may not have",
    ],
    [
      "a header",
      { callback_headers: { "x-a": "${{ secrets.VALUE }}" } },
      "ключ",
      "The header x-a has a secret with characters that a header may not have",
    ],
    ["a path", { path: "/a/${{ secrets.VALUE }}/b" }, "..", "The callback_url has a secret that would change the address's path"],
    ["a path", { path: "/a/.${{ secrets.VALUE }}/b" }, ".", "The callback_url has a secret that would change the address's path"],
  ] as const)(
    "a value that cannot stand in %s fails the attempt, and a better one heals the job",
    async ([, settings, value, message], { service }) => {
      const handler = await service.handler();
      await put(service, "VALUE", value);
      await service.ok(
        "PATCH",
        `/v1/queues/${handler.queue}`,
        "path" in settings ? { callback_url: new URL(handler.url).origin + settings.path } : settings,
      );
      const job = await service.enqueue({ queue: handler.queue });
      const error = { code: "TEMPLATE_INVALID", message: expect.stringContaining(message), status: null };
      expect(await ended(service, job)).toMatchObject({ state: "delayed", attempt: 1, last_error: error });
      await service.ok("PATCH", "/v1/secrets/VALUE", { value: "fine" });
      await service.untilIdle();
      expect(await service.job(job)).toMatchObject({ state: "completed", attempt: 2 });
      expect(handler.received).toHaveLength(1);
    },
  );

  test("a secret that is not there fails the attempt and is named; once it is there, a later attempt succeeds", async ({ service }) => {
    const handler = await service.handler();
    await put(service, "HERE", "here");
    const job = await service.enqueue({ queue: handler.queue, payload: ["${{ secrets.HERE }}", "${{ secrets.LATER }}"] });
    const error = { code: "SECRET_NOT_FOUND", message: "There is no secret LATER.", status: null };
    expect(await ended(service, job)).toMatchObject({
      state: "delayed",
      attempt: 1,
      last_error: error,
      attempts_log: [{ outcome: "failed", error }],
    });
    await put(service, "LATER", "now");
    await service.untilIdle();
    expect(await service.job(job)).toMatchObject({ state: "completed", attempt: 2 });
    expect(handler.payloads).toEqual([["here", "now"]]);
  });

  test("a job whose secret never comes goes to the dead-letter queue, where the error's code finds it", async ({ service }) => {
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.NEVER }}" });
    await service.untilIdle();
    expect(await service.job(job)).toMatchObject({ state: "failed", attempt: 3 });
    const { data } = await service.ok("GET", "/v1/dlq?error=SECRET_NOT_FOUND");
    expect(data).toMatchObject([{ id: job.id }]);
    expect(handler.received).toEqual([]);
  });

  test("another workspace's secret of the same name does not exist for a template", async ({ service, node, database, clock }) => {
    await put(new Service(node, database, clock, await newWorkspace(database)), "MINE", "theirs");
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.MINE }}" });
    expect(await ended(service, job)).toMatchObject({ last_error: { code: "SECRET_NOT_FOUND" } });
  });

  test("a rotated value is what the next dispatch sends, on every node, for jobs that were queued before", async ({ service }) => {
    const other = await joinedBy(service);
    try {
      const handler = await service.handler();
      await put(service, "TOKEN", "old");
      const send = async (through: Service) => {
        const job = await through.enqueue({ queue: handler.queue, payload: "${{ secrets.TOKEN }}" });
        await service.untilState({ ...job, queue: handler.queue }, "completed");
      };
      await send(service);
      await send(other);
      await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
      const queued = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.TOKEN }}" });
      await service.ok("PATCH", "/v1/secrets/TOKEN", { value: "new" });
      await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
      await service.untilState({ ...queued, queue: handler.queue }, "completed");
      await send(service);
      await send(other);
      expect(handler.payloads).toEqual(["old", "old", "new", "new", "new"]);
    } finally {
      await other.node.stop();
    }
  });

  test("a secret goes only to the queues and hosts that it is allowed for", async ({ service }) => {
    const handler = await service.handler();
    const elsewhere = await service.handler();
    await put(service, "QUEUE_BOUND", "q", { allowed_queues: [handler.queue] });
    await put(service, "HOST_BOUND", "h", { allowed_hosts: ["api.example.com"] });
    const wrongQueue = await service.enqueue({ queue: elsewhere.queue, payload: "${{ secrets.QUEUE_BOUND }}" });
    const wrongHost = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.HOST_BOUND }}" });
    const right = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.QUEUE_BOUND }}" });
    expect(await ended(service, wrongQueue)).toMatchObject({
      state: "delayed",
      last_error: { code: "SECRET_NOT_ALLOWED", message: `The secret QUEUE_BOUND may not be used by the queue ${elsewhere.queue}.` },
    });
    expect(await ended(service, wrongHost)).toMatchObject({
      last_error: { code: "SECRET_NOT_ALLOWED", message: "The secret HOST_BOUND may not be sent to the host 127.0.0.1." },
    });
    expect(await ended(service, right)).toMatchObject({ state: "completed" });
    await service.ok("PATCH", "/v1/secrets/HOST_BOUND", { allowed_hosts: ["api.example.com", "127.0.0.1"] });
    await service.ok("PATCH", "/v1/secrets/QUEUE_BOUND", { allowed_queues: null });
    await service.untilIdle();
    expect((await service.job(wrongHost)).state).toBe("completed");
    expect((await service.job(wrongQueue)).state).toBe("completed");
    expect(handler.payloads).toEqual(["q", "h"]);
  });

  test("what secrets add to a callback is bounded", async ({ service }) => {
    const handler = await service.handler();
    await put(service, "LARGE", "x".repeat(60_000));
    const job = await service.enqueue({ queue: handler.queue, payload: Array(3).fill("${{ secrets.LARGE }}") });
    const error = { code: "TEMPLATE_INVALID", message: "The payload has secrets that add more than 131072 bytes." };
    expect(await ended(service, job)).toMatchObject({ last_error: error });
  });

  test("what was stored before templates were checked fails its attempts", async ({ service }) => {
    const handler = await service.handler({ callback_headers: { "x-a": "fine" } });
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
    const job = await service.enqueue({ queue: handler.queue, payload: "fine" });
    await service.database.query("update job set payload = '\"${{ github.sha }}\"' where payload = '\"fine\"'");
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    expect(await ended(service, job)).toMatchObject({
      last_error: { code: "TEMPLATE_INVALID", message: 'The payload has a template of the namespace "github"; there is only "secrets".' },
    });
  });
});

test("jobs wait without using attempts while secrets cannot be handed out, and go when they can", async ({ service }) => {
  const handler = await service.handler({ defaultJobOptions: { attempts: 1 } });
  await put(service, "TOKEN", "value");
  await service.database.query("alter table audit_event add constraint unlucky check (event_type <> 'secret.accessed') not valid");
  const job = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.TOKEN }}" });
  await service.untilState(job, "delayed");
  expect(await service.job(job)).toMatchObject({ attempt: 1, attempts: 2, last_error: null, attempts_log: [{ outcome: "released" }] });
  await service.database.query("alter table audit_event drop constraint unlucky");
  await service.untilIdle();
  expect(await service.job(job)).toMatchObject({ state: "completed", attempt: 2 });
  expect(handler.payloads).toEqual(["value"]);
});

describe("enqueue refuses templates that mean nothing", () => {
  test.for([
    ["", { payload: { a: ["x", "${{ oops"] } }, "payload.a[1]", "has a ${{ without }}"],
    ["", { payload: "${{ env.HOME }}" }, "payload", 'has a template of the namespace "env"; there is only "secrets"'],
    ["", { payload: { "${{ secrets.A }}": 1 } }, "payload", "has a template in a member's name; templates stand in values"],
    ["/batch", { jobs: [{ payload: 1 }, { payload: { b: "${{ secrets.lower }}" } }] }, "jobs[1].payload.b", "names no secret"],
    ["/batch", [{ payload: "${{}}" }], "[0].payload", "names no secret"],
  ] as const)("enqueue refuses templates that mean nothing: %s %j", async ([path, body, at, message], { service }) => {
    const queue = await service.queue();
    const reply = await service.api("POST", `/v1/queues/${queue}/jobs${path}`, body);
    expect(reply.status).toBe(400);
    expect(reply.body.error).toMatchObject({
      code: "VALIDATION_ERROR",
      details: { issues: [{ path: at, message: expect.stringContaining(message) }] },
    });
    expect((await service.ok("GET", `/v1/queues/${queue}/jobs`)).data).toEqual([]);
  });
});

describe("what is kept of an attempt", () => {
  const echo = (status: number, of: (body: string) => string) => (received: { raw: string }) => ({
    status,
    headers: { "content-type": "application/json" },
    body: of(JSON.parse(received.raw).payload as string),
  });

  test("a result has the name of the secret in place of its value", async ({ service }) => {
    const handler = await service.handler({
      answers: echo(200, (secret) => JSON.stringify({ you: [`sent ${secret}`], base64: btoa(`user:${secret}`), n: 1 })),
    });
    await put(service, "TOKEN", "correct horse battery staple");
    const job = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.TOKEN }}" });
    const { result } = await ended(service, job);
    expect(result).toMatchObject({ you: ["sent [secret:TOKEN]"], n: 1 });
    expect(result.base64).toContain("[secret:TOKEN]");
  });

  test("an excerpt of an error is cut after the secrets are taken out, not before", async ({ service }) => {
    const secret = "correct horse battery staple";
    const handler = await service.handler({ answers: echo(422, () => `${"x".repeat(190)}${secret}`) });
    await put(service, "TOKEN", secret);
    const job = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.TOKEN }}" });
    const { last_error } = await ended(service, job);
    expect(last_error.message).not.toContain("correct");
    expect(last_error.message).toContain("[secret:");
  });

  test("an answer to a job without templates is kept as it is", async ({ service }) => {
    const handler = await service.handler({ answers: echo(200, () => JSON.stringify("correct horse battery staple")) });
    await put(service, "TOKEN", "correct horse battery staple");
    const job = await service.enqueue({ queue: handler.queue, payload: "x" });
    expect(await ended(service, job)).toMatchObject({ result: "correct horse battery staple" });
  });
});

describe("the audit log", () => {
  const eventsOf = async (service: Service, type: string) =>
    (await service.ok("GET", `/v1/audit-events?event_type=${type}&limit=100`)).data;

  test("the audit log has every access with the attempt that made it, once, before the handler sees it", async ({ service }) => {
    const seen: number[] = [];
    const handler = await service.handler({
      answers: async () => {
        seen.push((await eventsOf(service, "secret.accessed")).length);
        return 200;
      },
    });
    await put(service, "TOKEN", "value");
    const job = await service.enqueue({ queue: handler.queue, payload: ["${{ secrets.TOKEN }}", "${{ secrets.TOKEN }}"] });
    await service.untilState(job, "completed");
    expect(seen).toEqual([1]);
    expect(await eventsOf(service, "secret.accessed")).toMatchObject([
      {
        actor_id: "system",
        resource_type: "secret",
        resource_id: "TOKEN",
        input: { queue: handler.queue, host: "127.0.0.1", attempts: { 1: [job.id] }, secrets: ["TOKEN"] },
        output: null,
      },
    ]);
  });

  test("the audit log has all attempts of many jobs, in few events", async ({ service }) => {
    const handler = await service.handler();
    await put(service, "TOKEN", "value");
    const { jobs } = await service.ok(
      "POST",
      `/v1/queues/${handler.queue}/jobs/batch`,
      Array(200).fill({ payload: "${{ secrets.TOKEN }}" }),
    );
    await service.untilIdle();
    const events = await eventsOf(service, "secret.accessed");
    const told = events.flatMap(({ input }: { input: { attempts: Record<string, string[]> } }) => input.attempts["1"]);
    expect(told.toSorted()).toEqual(jobs.map(({ id }: { id: string }) => id).toSorted());
    expect(events.length).toBeLessThan(100);
  });

  test("the audit log has one event for an attempt, however many secrets it uses", async ({ service }) => {
    const handler = await service.handler({ answers: 429, defaultJobOptions: { attempts: 5, backoff: { delay: 0 } } });
    const names = Array.from({ length: 20 }, (_, n) => `S${n}`);
    for (const name of names) await put(service, name, `value of ${name}`);
    const jobs = Array(10).fill({ payload: names.map((name) => `\${{ secrets.${name} }}`) });
    await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, jobs);
    await service.untilIdle();
    const events = await eventsOf(service, "secret.accessed");
    expect(events.length).toBeLessThanOrEqual(10 * 5);
    expect(events[0]).toMatchObject({ resource_id: null, input: { secrets: names } });
    const attempts = events.flatMap(({ input }: { input: { attempts: Record<string, string[]> } }) => Object.values(input.attempts).flat());
    expect(attempts).toHaveLength(10 * 5);
  });

  test("the audit log has all secrets that were refused in one event", async ({ service }) => {
    const handler = await service.handler({ defaultJobOptions: { attempts: 1 } });
    await put(service, "FREE", "f");
    for (const name of ["BOUND", "OTHER"]) await put(service, name, "b", { allowed_hosts: [] });
    await service.enqueue({ queue: handler.queue, payload: "${{ secrets.FREE }} ${{ secrets.BOUND }} ${{ secrets.OTHER }}" });
    await service.untilIdle();
    expect(await eventsOf(service, "secret.refused")).toMatchObject([{ resource_id: null, input: { secrets: ["BOUND", "OTHER"] } }]);
  });

  test("the audit log has refusals, and nothing of secrets that are not handed out", async ({ service }) => {
    const handler = await service.handler({ defaultJobOptions: { attempts: 1 } });
    await put(service, "FREE", "f");
    await put(service, "BOUND", "b", { allowed_hosts: [] });
    await service.enqueue({ queue: handler.queue, payload: ["${{ secrets.FREE }}", "${{ secrets.BOUND }}"] });
    await service.enqueue({ queue: handler.queue, payload: ["${{ secrets.FREE }}", "${{ secrets.ABSENT }}"] });
    await service.untilIdle();
    expect(await eventsOf(service, "secret.refused")).toMatchObject([{ resource_id: "BOUND", input: { secrets: ["BOUND"] } }]);
    expect(await eventsOf(service, "secret.accessed")).toEqual([]);
  });

  test("the audit log has that a secret does not decrypt, which fails the attempt", async ({ service }) => {
    const handler = await service.handler({ defaultJobOptions: { attempts: 1 } });
    await put(service, "TOKEN", "value");
    await service.database.query(
      "update secret set ciphertext = set_byte(ciphertext, length(ciphertext) - 1, get_byte(ciphertext, length(ciphertext) - 1) # 1) where name = 'TOKEN' and workspace_id in (select workspace_id from lane where name = $1)",
      [handler.queue],
    );
    const job = await service.enqueue({ queue: handler.queue, payload: "${{ secrets.TOKEN }}" });
    await service.untilIdle();
    expect(await service.job(job)).toMatchObject({ state: "failed", last_error: { code: "SECRET_UNREADABLE" } });
    expect(await eventsOf(service, "secret.unreadable")).toMatchObject([{ resource_id: "TOKEN", input: { attempts: { 1: [job.id] } } }]);
    expect(handler.received).toEqual([]);
  });
});
