import fastify from "fastify";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { countErrors } from "#http";
import { problem, unavailable } from "#kernel";
import { replyProblem } from "../../src/http/problem-reply.ts";

test("responses with a status of 500 or more are counted by their status, and no others", async () => {
  const registry = new Registry();
  const api = fastify();
  api.setErrorHandler(replyProblem(() => {}, countErrors(registry)));
  const errors: Record<string, Error> = { 429: problem("RATE_LIMITED"), 500: new TypeError("a fault"), 503: unavailable() };
  api.get<{ Params: { status: string } }>("/:status", async ({ params }) => {
    const error = errors[params.status];
    if (error) throw error;
    return {};
  });
  for (const status of [200, 429, 500, 503, 503]) expect((await api.inject(`/${status}`)).statusCode).toBe(status);
  expect((await registry.metrics()).match(/^tidemill_http_errors_total.*$/gm)?.toSorted()).toEqual([
    'tidemill_http_errors_total{status="500"} 1',
    'tidemill_http_errors_total{status="503"} 2',
  ]);
});
