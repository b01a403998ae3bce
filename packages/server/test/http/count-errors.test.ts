import fastify from "fastify";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type Api, countErrors } from "#http";

test("responses with a status of 500 or more are counted by their status, and no others", async () => {
  const registry = new Registry();
  const api = fastify();
  countErrors(api as unknown as Api, registry);
  api.get<{ Params: { status: number } }>("/:status", ({ params }, reply) => reply.code(Number(params.status)).send());
  for (const status of [200, 404, 429, 500, 503, 503]) await api.inject(`/${status}`);
  expect((await registry.metrics()).match(/^tidemill_http_errors_total.*$/gm)?.toSorted()).toEqual([
    'tidemill_http_errors_total{status="500"} 1',
    'tidemill_http_errors_total{status="503"} 2',
  ]);
});
