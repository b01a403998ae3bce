import { Readable } from "node:stream";
import { HttpError, json, workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { MemoryRun } from "./memory-journal.ts";

const URL_OF_ADA = "https://api.example.com/users/1";

const load = workflow({ id: "load" }, async ({ step }) => {
  const { body } = await step.http("load user", { url: URL_OF_ADA, of: json<{ name: string }>() });
  return body.name;
});

describe("step.http", () => {
  const formType = "application/x-www-form-urlencoded";
  test.for<[string, object | undefined, object]>([
    ["says that it is one", undefined, { "content-type": formType }],
    ["keeps other headers", { a: "b" }, { a: "b", "content-type": formType }],
    ["keeps its type", { "Content-Type": "text/plain" }, { "Content-Type": "text/plain" }],
  ])("sends URLSearchParams as a form, which %s", async ([, headers, expected]) => {
    const url = new URL("/form", URL_OF_ADA);
    const body = new URLSearchParams({ name: "Ada & Bob" });
    const run = new MemoryRun(({ step }) => step.http("send", { url, body, ...(headers && { headers: { ...headers } }) }));
    const http = { url: "https://api.example.com/form", body: "name=Ada+%26+Bob", headers: expected };
    expect(await run.execute()).toMatchObject({ outcome: "suspended", steps: [{ http }] });
  });

  test.for<[string, unknown]>([
    ["FormData", new FormData()],
    ["a Blob", new Blob(["a"])],
    ["an ArrayBuffer", new ArrayBuffer(1)],
    ["a typed array (Uint8Array)", new Uint8Array(1)],
    ["a typed array (Uint8Array)", Buffer.from("a")],
    ["a ReadableStream", new ReadableStream()],
    ["a Map", new Map()],
    ["a stream", Readable.from(["a"])],
  ])("refuses a body %s, which is no JSON", async ([what, body]) => {
    const run = new MemoryRun(({ step }) => step.http("send", { url: URL_OF_ADA, body }));
    const error = `Step "send": body must be a string, URLSearchParams or a value of JSON, not ${what}.`;
    expect(await run.execute()).toMatchObject({ outcome: "failed", error_name: "InvalidStepError", error, retry: false });
  });

  test("refuses a template in URLSearchParams, which encode it", async () => {
    const body = new URLSearchParams([["key", "${{ secrets.KEY }}"]]);
    const run = new MemoryRun(({ step }) => step.http("send", { url: URL_OF_ADA, body }));
    const error = 'Step "send": body has ${{ in URLSearchParams, which encode it. Use a string for a form with templates.';
    expect(await run.execute()).toMatchObject({ outcome: "failed", error_name: "InvalidStepError", error, retry: false });
  });

  test("suspends the run with the call", async () => {
    const run = new MemoryRun(({ step }) =>
      step.http("pay", {
        url: "https://api.example.com/pay?key=${{ secrets.KEY }}",
        method: "PUT",
        headers: { authorization: "Bearer ${{ secrets.API }}" },
        body: { at: new Date(0) },
        timeout: "10s",
        attempts: 5,
        backoff: { delay: "2s" },
      }),
    );
    expect(await run.execute()).toMatchObject({
      outcome: "suspended",
      steps: [
        {
          key: "pay",
          type: "http",
          status: "waiting",
          http: {
            url: "https://api.example.com/pay?key=${{ secrets.KEY }}",
            method: "PUT",
            headers: { authorization: "Bearer ${{ secrets.API }}" },
            body: { at: "1970-01-01T00:00:00.000Z" },
            timeout: 10_000,
            attempts: 5,
            backoff: { delay: 2_000 },
          },
        },
      ],
    });
  });

  test("that failed throws an HttpError with the status, also on a replay", async () => {
    const error = { name: "HttpError", message: "The response has the status 404.", code: "HTTP_STATUS", status: 404 };
    const journal = [
      {
        key: "load",
        type: "http",
        status: "failed",
        output: null,
        error,
        attempt: 1,
        startedAt: "",
        endedAt: "",
        wakeAt: null,
        signal: null,
        undoable: false,
      },
    ] as const;
    const run = new MemoryRun(
      async ({ step }) => {
        const thrown = await step.http("load", { url: URL_OF_ADA }).catch((caught: unknown) => caught);
        expect(thrown).toBeInstanceOf(HttpError);
        const { status, code, step: key } = thrown as HttpError;
        return { status, code, key };
      },
      { journal: [...journal] },
    );
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: { status: 404, code: "HTTP_STATUS", key: "load" } });
  });

  test("that nobody catches fails the run for good", async () => {
    const run = await testWorkflow(load, { mocks: { "load user": { status: 404 } } });
    expect(run).toMatchObject({ status: "failed", attempt: 1, error: { name: "HttpError", message: "The response has the status 404." } });
  });

  test.for([
    ["an address that is none", { url: "api.example.com" }, "url must be an http or https URL"],
    ["a timeout of 0", { url: URL_OF_ADA, timeout: 0 }, "timeout must be a number of milliseconds"],
    ["0 attempts", { url: URL_OF_ADA, attempts: 0 }, "attempts must be a whole number from 1 on"],
    ["a body without JSON", { url: URL_OF_ADA, body: 1n }, 'The body of step "call" has no JSON'],
  ] as const)("refuses %s", async ([, request, message], {}) => {
    const run = new MemoryRun(({ step }) => step.http("call", request));
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: expect.stringContaining(message) });
  });

  test("has a body of the given type", () => {
    workflow({ id: "typed" }, async ({ step }) => {
      expectTypeOf((await step.http("a", { url: URL_OF_ADA, of: json<{ name: string }>() })).body).toEqualTypeOf<{ name: string }>();
      expectTypeOf((await step.http("b", { url: URL_OF_ADA })).body).toEqualTypeOf<unknown>();
      // @ts-expect-error a call needs an address
      await step.http("c", {});
      // @ts-expect-error there is no such method
      await step.http("d", { url: URL_OF_ADA, method: "FETCH" });
    });
  });
});

describe("testWorkflow", () => {
  test("answers calls with mocks, also when each step is followed by a crash", async () => {
    const mocks = { "load user": { body: { name: "Ada" } } };
    expect(await testWorkflow(load, { mocks, crash: "afterEveryStep" })).toMatchObject({ status: "completed", result: "Ada" });
  });

  test("gives the call to a mock that is a function, each use of the name in its turn", async () => {
    const twice = workflow({ id: "twice" }, async ({ step }) => {
      const all = await Promise.all([1, 2].map((key) => step.http("load", { url: `${URL_OF_ADA}?n=${key}` }, { key })));
      return all.map(({ body }) => body);
    });
    const { result } = await testWorkflow(twice, { mocks: { load: ({ url }: { url: string }) => ({ body: url.slice(-1) }) } });
    expect(result).toEqual(["1", "2"]);
  });

  test("tries a call again as the service does", async () => {
    const statuses = [500, 429, 200];
    const run = await testWorkflow(load, { mocks: { "load user": () => ({ status: statuses.shift(), body: { name: "Ada" } }) } });
    expect(run).toMatchObject({ status: "completed", result: "Ada", elapsedMs: 3_000 });
    expect(await testWorkflow(load, { mocks: { "load user": { status: 503 } } })).toMatchObject({ status: "failed" });
    const failing = { mocks: { "load user": { body: { name: "Ada" } } } };
    expect(await testWorkflow(load, { ...failing, fail: { "load user": 2 } })).toMatchObject({ status: "completed" });
    expect(await testWorkflow(load, { ...failing, fail: { "load user": new Error("refused") } })).toMatchObject({
      status: "failed",
      error: { name: "HttpError", message: "refused" },
    });
  });

  test("fails by the name of the step when nobody answers its call, and for a mock that is no response", async () => {
    await expect(testWorkflow(load, {})).rejects.toThrow(`Step "load user" calls ${URL_OF_ADA}, and the test has no response for it.`);
    await expect(testWorkflow(load, { mocks: { "load user": { name: "Ada" } } })).rejects.toThrow("must be a response");
  });
});
