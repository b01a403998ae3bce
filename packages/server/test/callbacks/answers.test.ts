import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import type { Answer } from "../harness/handler.ts";
import { RawServer } from "../harness/raw-server.ts";
import { type Service, test } from "../harness/service.ts";
import { stall } from "../harness/stall.ts";

/** Lets a handler respond to one attempt. Returns the job's record after the settle. */
async function recordAfter(service: Service, answer: Answer, state: string) {
  const handler = await service.handler({ answers: answer });
  const job = await service.enqueue({ queue: handler.queue });
  await service.untilState(job, state);
  const { text, body } = await service.api("GET", `/v1/queues/${handler.queue}/jobs/${job.id}`);
  return { text, record: body, handler };
}

const json = (body: string, status = 200) => ({ status, headers: { "content-type": "application/json" }, body });
const RESULT_BYTES = 64 * 1024;

describe("a response that comes in time", () => {
  test("a response that comes in time counts, though the event loop was stalled until the deadline was over", async ({
    service,
    onTestFinished,
  }) => {
    const server = await RawServer.listen((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      stall(1_500);
    });
    onTestFinished(() => server.close());
    const queue = await service.queue({ callback_url: server.url, callback_timeout: 1 });
    const job = await service.enqueue({ queue });
    await service.untilState(job, "completed");
    expect((await service.job(job)).attempts_log).toMatchObject([{ attempt: 1, outcome: "completed", status: 200 }]);
  });
});

describe("a 2xx completes the job", () => {
  test.for([200, 201, 202, 203, 204, 205, 206, 226, 299])("a 2xx completes the job: %i", async (status, { service }) => {
    const { record, handler } = await recordAfter(service, status, "completed");
    expect(record).toMatchObject({ attempt: 1, result: null, last_error: null });
    expect(record.finished_at).not.toBeNull();
    expect(record.attempts_log).toEqual([
      {
        attempt: 1,
        started_at: record.started_at,
        duration_ms: expect.any(Number),
        outcome: "completed",
        status,
        error: null,
        worker: null,
      },
    ]);
    expect(handler.attempts).toEqual([1]);
  });

  test("a 2xx that asks for no retry completes the job, too", async ({ service }) => {
    await recordAfter(service, { status: 200, headers: { "x-service-no-retry": "true" } }, "completed");
  });
});

describe("the result is the JSON of a 2xx", () => {
  test.for(['{"sent":true}', "[]", "null", "0", '"text"', "12345678901234567890.5", '{"b":1,"a":2}', '"Grüße 🌊"'])(
    "the result is the JSON of a 2xx as it came: %s",
    async (body, { service }) => {
      const { text, record } = await recordAfter(service, json(body), "completed");
      expect(text).toContain(`"result":${body},"schedule"`);
      expect(record.last_error).toBeNull();
    },
  );

  test.for(["application/json; charset=utf-8", "Application/JSON", "application/problem+json"])(
    "the result is the JSON of a 2xx of type %s",
    async (type, { service }) => {
      const { record } = await recordAfter(service, { status: 200, headers: { "content-type": type }, body: '{"a":1}' }, "completed");
      expect(record.result).toEqual({ a: 1 });
    },
  );

  test.for<[string, Answer]>([
    ["of invalid JSON", json('{"sent":tru')],
    ["of JSON with something after it", json("{} {}")],
    ["of bytes that are no UTF-8", { ...json(""), body: Buffer.from([0x22, 0xff, 0x22]) as unknown as string }],
    ["of text", { status: 200, headers: { "content-type": "text/plain" }, body: "sent" }],
    ["of HTML", { status: 200, headers: { "content-type": "text/html" }, body: "<p>sent</p>" }],
    ["of an empty body", json("")],
    ["of white space", json("  \n")],
  ])("the result is null for a 2xx %s", async ([, answer], { service }) => {
    const { record } = await recordAfter(service, answer, "completed");
    expect(record.result).toBeNull();
    expect(record.last_error).toBeNull();
  });

  test("the result is the JSON of a 2xx of 65,536 bytes, and null with one byte more", async ({ service }) => {
    const ofBytes = (bytes: number) => `"${"é".repeat((bytes - 2) / 2)}${bytes % 2 === 0 ? "" : "e"}"`;
    const most = ofBytes(RESULT_BYTES);
    expect(Buffer.byteLength(most)).toBe(RESULT_BYTES);
    expect((await recordAfter(service, json(most), "completed")).record.result).toBe(JSON.parse(most));
    const longer = ofBytes(RESULT_BYTES + 1);
    expect(Buffer.byteLength(longer)).toBe(RESULT_BYTES + 1);
    expect((await recordAfter(service, json(longer), "completed")).record.result).toBeNull();
  });
});

describe("a refusal", () => {
  test.for([400, 401, 403, 404, 405, 408, 409, 413, 418, 422, 429, 451, 499, 500, 501, 502, 503, 504, 599])(
    "a refusal is a failed attempt and retried: %i",
    async (status, { service }) => {
      const { record } = await recordAfter(service, status, "delayed");
      const error = { code: "HTTP_STATUS", message: expect.stringContaining(String(status)), status };
      expect(record).toMatchObject({ state: "delayed", attempt: 1, finished_at: null, last_error: error, result: null });
      expect(record.attempts_log).toEqual([
        { attempt: 1, started_at: record.started_at, duration_ms: expect.any(Number), outcome: "failed", status, error, worker: null },
      ]);
    },
  );

  test.for([300, 301, 302, 303, 304, 307, 308])(
    "a redirect is a failed attempt and retried, and its target gets no request: %i",
    async (status, { service }) => {
      const target = await service.handler();
      const { record } = await recordAfter(service, { status, headers: { location: target.url } }, "delayed");
      const error = { code: "REDIRECT", message: expect.stringContaining(String(status)), status };
      expect(record).toMatchObject({ attempt: 1, last_error: error });
      expect(record.attempts_log).toMatchObject([{ attempt: 1, outcome: "failed", status, error }]);
      expect(target.received).toEqual([]);
    },
  );

  test("a refusal is logged with what the handler said, in short", async ({ service }) => {
    const { record } = await recordAfter(service, { status: 500, body: `No such list.${"x".repeat(10_000)}` }, "delayed");
    expect(record.last_error.message).toContain("No such list.");
    expect(record.last_error.message.length).toBeLessThan(300);
  });

  test("a refusal is logged with what the handler said, cut between characters and not within one", async ({ service }) => {
    const { record } = await recordAfter(service, { status: 500, body: `x${"🌊".repeat(300)}` }, "delayed");
    expect(record.last_error.message).toContain("x🌊🌊");
    expect(record.last_error.message.isWellFormed()).toBe(true);
  });

  test("a refusal is logged without what a terminal would obey", async ({ service }) => {
    const { record } = await recordAfter(service, { status: 500, body: "\u001b[2Jgone\u0000 \u009b1m\ttab\nline" }, "delayed");
    expect(record.last_error.message).toBe("The handler answered 500: \ufffd[2Jgone\ufffd \ufffd1m\ttab\nline");
  });

  test("a refusal is logged without a body that is compressed", async ({ service }) => {
    const { record } = await recordAfter(
      service,
      { status: 500, headers: { "content-encoding": "gzip" }, body: "\u001f\u008b" },
      "delayed",
    );
    expect(record.last_error.message).toBe("The handler answered 500.");
  });

  test("last_error is the latest refusal, also once a later attempt succeeds", async ({ service }) => {
    const handler = await service.handler({ answers: [500, 404, 200] });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilIdle();
    const record = await service.job(job);
    expect(record).toMatchObject({ state: "completed", attempt: 3, last_error: { code: "HTTP_STATUS", status: 404 } });
    expect(record.attempts_log.map(({ attempt, outcome, status }: Record<string, unknown>) => [attempt, outcome, status])).toEqual([
      [1, "failed", 500],
      [2, "failed", 404],
      [3, "completed", 200],
    ]);
  });
});

describe("of an attempt that had secrets", () => {
  const mostly = (value: string, body: string): string => value + body.slice(value.length);

  /** What is recorded when a handler that received the secret responds like this. */
  async function recordWith(service: Service, value: string, answer: Answer, state: string) {
    const name = `S${randomBytes(8).toString("hex").toUpperCase()}`;
    await service.ok("POST", "/v1/secrets", { name, value });
    const handler = await service.handler({ answers: answer });
    const job = await service.enqueue({ queue: handler.queue, payload: `\${{ secrets.${name} }}` });
    await service.untilState(job, state);
    return { name, record: await service.job(job) };
  }

  test("an excerpt of a body that is not UTF-8 is left out", async ({ service }) => {
    const answer = { status: 401, body: Buffer.from("Token Pässw0rd-geheim-1234567890 falsch", "latin1") as unknown as string };
    const { record } = await recordWith(service, "Pässw0rd-geheim-1234567890", answer, "delayed");
    expect(record.last_error.message).toBe(
      "The handler answered 401; what it said is left out: it is not UTF-8 and cannot be looked through for secrets.",
    );
    const { record: other } = await recordAfter(service, answer, "delayed");
    expect(other.last_error.message).toBe("The handler answered 401: Token P\ufffdssw0rd-geheim-1234567890 falsch");
  });

  test("an excerpt of a body that is too much work to look through is left out", async ({ service }) => {
    const { record } = await recordWith(service, "a", { status: 500, body: "a".repeat(RESULT_BYTES) }, "delayed");
    expect(record.last_error.message).toBe(
      "The handler answered 500; what it said is left out: it holds too much to be looked through for secrets.",
    );
  });

  test("a result of more than 65,536 bytes without its secrets is null", async ({ service }) => {
    const value = "correct horse";
    const text = (bytes: number) => JSON.stringify(mostly(value, "x".repeat(bytes - 2)));
    const grows = "[secret:S0123456789ABCDEF]".length - value.length;
    const kept = await recordWith(service, value, json(text(RESULT_BYTES - grows)), "completed");
    expect(kept.record.result).toMatch(new RegExp(`^\\[secret:${kept.name}\\]x+$`));
    expect((await recordWith(service, value, json(text(RESULT_BYTES - grows + 1)), "completed")).record.result).toBeNull();
  });

  test("a result that grows in becoming a string is null", async ({ service }) => {
    const body = `{"key":"value","list":[${'"",'.repeat(20_000)}""]}`;
    expect((await recordWith(service, ':"value"', json(body), "completed")).record.result).toBeNull();
  });
});

describe("a refusal for good fails the job at the first attempt", () => {
  const noRetry = (status: number, value = "true") => ({ status, headers: { "x-service-no-retry": value } });

  test.for<[string, Answer, string, number]>([
    ["410", 410, "HTTP_STATUS", 410],
    ["400 with X-Service-No-Retry", noRetry(400), "HTTP_STATUS", 400],
    ["500 with X-Service-No-Retry", noRetry(500), "HTTP_STATUS", 500],
    ["500 with X-Service-No-Retry in capitals", noRetry(500, "TRUE"), "HTTP_STATUS", 500],
    ["302 with X-Service-No-Retry", noRetry(302), "REDIRECT", 302],
    [
      "503 with X-Service-No-Retry and Retry-After",
      { status: 503, headers: { "x-service-no-retry": "true", "retry-after": "5" } },
      "HTTP_STATUS",
      503,
    ],
  ])("a refusal for good fails the job at the first attempt: %s", async ([, answer, code, status], { service }) => {
    const { record, handler } = await recordAfter(service, answer, "failed");
    expect(record).toMatchObject({ attempt: 1, attempts: 3, last_error: { code, status } });
    expect(record.finished_at).not.toBeNull();
    expect(record.attempts_log).toMatchObject([{ attempt: 1, outcome: "failed", status, error: { code } }]);
    expect(handler.attempts).toEqual([1]);
  });

  test.for(["false", "0", "no", ""])(
    "a refusal for good is retried all the same when X-Service-No-Retry says %j",
    async (value, { service }) => {
      await recordAfter(service, noRetry(500, value), "delayed");
    },
  );
});
