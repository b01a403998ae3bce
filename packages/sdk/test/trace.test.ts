import { context, propagation, ROOT_CONTEXT, type SpanContext, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import { Worker, type WorkerJob } from "@tidemill/sdk";
import { afterAll, beforeAll, expect } from "vitest";
import { test } from "./harness/client.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }));
});

afterAll(() => {
  context.disable();
  propagation.disable();
});

/** Runs code inside of a span. */
function inSpan<Result>(spanId: string, run: () => Result): Result {
  const span: SpanContext = { traceId: TRACE, spanId, traceFlags: 1 };
  const baggage = propagation.createBaggage({ user: { value: "ada" } });
  return context.with(propagation.setBaggage(trace.setSpanContext(ROOT_CONTEXT, span), baggage), run);
}

const quiet = () => {};
const SILENT = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const A = "b7ad6b7169203331";
const B = "00f067aa0ba902b7";

test("a request carries the trace of the active span, and nothing else of its context", async ({ clients: { proxy, tidemill } }) => {
  await inSpan(A, () => tidemill.status());
  expect(proxy.passed[0]?.headers).toMatchObject({ traceparent: `00-${TRACE}-${A}-01` });
  expect(proxy.passed[0]?.headers).not.toHaveProperty("baggage");
});

test("a trace that no header may have is left out", async ({ clients: { proxy, tidemill } }) => {
  const traceState = { serialize: () => "vendor=\u00e9\n" } as SpanContext["traceState"];
  const span = { traceId: TRACE, spanId: A, traceFlags: 1, ...(traceState && { traceState }) };
  await context.with(trace.setSpanContext(ROOT_CONTEXT, span), () => tidemill.status());
  expect(proxy.passed[0]?.headers).toMatchObject({ traceparent: `00-${TRACE}-${A}-01` });
  expect(proxy.passed[0]?.headers).not.toHaveProperty("tracestate");
});

test("without a span a request carries no trace", async ({ clients: { proxy, tidemill } }) => {
  await tidemill.status();
  expect(proxy.passed[0]?.headers).not.toHaveProperty("traceparent");
});

test("a retry carries the trace of its call", async ({ clients: { proxy, tidemill } }) => {
  proxy.faults = ["cut before"];
  await inSpan(A, () => tidemill.status());
  expect(proxy.passed.map(({ headers }) => headers.traceparent)).toEqual([`00-${TRACE}-${A}-01`, `00-${TRACE}-${A}-01`]);
});

test("a batch carries the trace that all its jobs share", async ({ service, clients: { proxy, tidemill } }) => {
  const queue = tidemill.queue(await service.queue());
  await inSpan(A, () => Promise.all([queue.enqueue(1), queue.enqueue(2)]));
  expect(proxy.passed.map(({ headers }) => headers.traceparent)).toEqual([`00-${TRACE}-${A}-01`]);
});

test("the handler of a worker gets the trace that its job was enqueued in", async ({ service, clients: { tidemill }, onTestFinished }) => {
  const name = await service.queue();
  const got = Promise.withResolvers<WorkerJob>();
  const worker = new Worker({ url: service.node.url, key: service.key, queues: { [name]: got.resolve }, signals: [], logger: SILENT });
  onTestFinished(() => worker.stop());
  void worker.run();
  await inSpan(A, () => tidemill.queue(name).enqueue(1));
  expect(await got.promise).toMatchObject({ traceparent: `00-${TRACE}-${A}-01`, tracestate: null });
});

test("a batch of jobs of several traces carries none", async ({ service, clients: { proxy, tidemill } }) => {
  const queue = tidemill.queue(await service.queue());
  await Promise.all([inSpan(A, () => queue.enqueue(1)), inSpan(B, () => queue.enqueue(2))]);
  expect(proxy.passed.map(({ headers }) => headers.traceparent)).toEqual([undefined]);
});
