import { describe, expect } from "vitest";
import { createApi, type Principal } from "#http";
import { systemRandom } from "#kernel";
import type { Reply } from "../harness/ask.ts";
import { limitedTo, setLimits } from "../harness/limits.ts";
import { makeKey } from "../harness/operator.ts";
import { faultsOf } from "../harness/problem.ts";
import { rateOf } from "../harness/rate.ts";
import { test, until } from "../harness/service.ts";

const NOON = Date.UTC(2026, 10, 21, 12) / 1000;

test("every reply to a valid key says what is left, whatever else it says", async ({ service: unlimited }) => {
  const service = await limitedTo(unlimited, { requests_per_minute: 60 });
  const reader = { authorization: `Bearer ${await makeKey(service, { role: "read" })}` };
  const replies: [number, Reply][] = [
    [200, await service.api("GET", "/v1/queues")],
    [201, await service.api("POST", "/v1/queues", { name: "emails" })],
    [409, await service.api("POST", "/v1/queues", { name: "emails" })],
    [400, await service.api("POST", "/v1/queues", "{")],
    [400, await service.api("GET", "/v1/queues?limit=0")],
    [403, await service.api("POST", "/v1/queues", { name: "other" }, reader)],
    [404, await service.api("GET", "/v1/queues/absent")],
    [405, await service.api("PUT", "/v1/queues")],
    [413, await service.api("POST", "/v1/queues", " ".repeat(2 * 1024 * 1024 + 1))],
    [204, await service.api("DELETE", "/v1/queues/emails")],
    [404, await service.api("GET", "/v1/nowhere")],
  ];
  for (const [index, [status, reply]] of replies.entries()) {
    const left = 59 - index;
    expect([reply.status, rateOf(reply)]).toEqual([
      status,
      {
        "x-ratelimit-limit": "60",
        "x-ratelimit-remaining": String(left),
        "x-ratelimit-reset": String(NOON + 61),
        "ratelimit-policy": '"default";q=60;w=60',
        ratelimit: `"default";r=${left};t=61`,
      },
    ]);
  }
});

test("replies to no valid key, and those outside /v1, say nothing of it", async ({ service: unlimited }) => {
  const service = await limitedTo(unlimited, { requests_per_minute: 60 });
  for (const reply of [await service.api("GET", "/v1/queues", undefined, { authorization: "" }), await service.api("GET", "/doc")]) {
    expect(Object.values(rateOf(reply))).toEqual([null, null, null, null, null]);
  }
});

describe("a workspace without a limit", () => {
  test("a workspace without a limit has no such headers and no row", async ({ service, database }) => {
    const before = await database.query("select count(*) from request_rate");
    const reply = await service.api("GET", "/v1/queues");
    expect([reply.status, Object.values(rateOf(reply))]).toEqual([200, [null, null, null, null, null]]);
    expect(await database.query("select count(*) from request_rate")).toEqual(before);
  });

  test("a workspace without a limit does not even ask the limiter", async () => {
    const asked: number[] = [];
    const rateLimiter = {
      take: async (_: unknown, limit: number) => {
        asked.push(limit);
        return { granted: true, remaining: 0, moreInSeconds: 1, resetsAtSeconds: 1 };
      },
      takeReport: () => false,
    };
    const findPrincipal = async (key: string) =>
      ({ role: "admin", requestsPerMinute: key === "unlimited" ? null : 7 }) as unknown as Principal;
    const api = createApi({ authenticator: { findPrincipal, operatorToken: null }, rateLimiter, emit: () => {}, random: systemRandom });
    api.get("/v1/thing", { config: { access: "read" } }, () => ({}));
    for (const key of ["unlimited", "limited", "unlimited"]) {
      const { statusCode } = await api.inject({ url: "/v1/thing", headers: { authorization: `Bearer ${key}` } });
      expect(statusCode).toBe(200);
    }
    await api.close();
    expect(asked).toEqual([7]);
  });
});

test("a request over the limit is refused with 429, and Retry-After says when one is let through again", async ({
  service: unlimited,
  clock,
}) => {
  const service = await limitedTo(unlimited, { requests_per_minute: 3 });
  const startMs = clock.nowMs();
  const at = async (seconds: number) => {
    await clock.set(startMs + seconds * 1000);
    const reply = await service.api("POST", "/v1/queues", { name: `at-${String(seconds).replace(".", "-")}` });
    return [reply.status, reply.headers.get("x-ratelimit-remaining"), reply.headers.get("retry-after"), reply.headers.get("ratelimit")];
  };
  try {
    expect(await at(0)).toEqual([201, "2", null, '"default";r=2;t=61']);
    expect(await at(10.2)).toEqual([201, "1", null, '"default";r=1;t=51']);
    expect(await at(20)).toEqual([201, "0", null, '"default";r=0;t=41']);
    expect(await at(20.6)).toEqual([429, "0", "41", '"default";r=0;t=41']);
    const refused = await service.api("POST", "/v1/queues", { name: "refused" });
    expect(faultsOf(refused, "RATE_LIMITED")).toEqual([]);
    expect(refused.body.error.details).toEqual({ limit: 3, retry_after_seconds: 41 });
    expect(refused.body.error.message).toBe("The workspace may send 3 requests in any 60 s. Send this one again in 41 s.");
    expect(refused.headers.get("x-ratelimit-reset")).toBe(String(startMs / 1000 + 20 + 61));
    expect(await at(60.99)).toEqual([429, "0", "1", '"default";r=0;t=1']);
    expect(await at(61)).toEqual([201, "0", null, '"default";r=0;t=10']);
    expect(await at(71)).toEqual([201, "0", null, '"default";r=0;t=10']);
    await clock.set(startMs + 132_000);
    const { data } = await service.ok("GET", "/v1/queues");
    const names = (data as { name: string }[]).map(({ name }) => name);
    expect(names.sort()).toEqual(["at-0", "at-10-2", "at-20", "at-61", "at-71"]);
  } finally {
    await clock.set(startMs);
  }
});

test("one workspace's requests leave another its own", async ({ service: unlimited }) => {
  const [busy, calm] = [await limitedTo(unlimited, { requests_per_minute: 2 }), await limitedTo(unlimited, { requests_per_minute: 2 })];
  const statuses = await Promise.all(Array.from({ length: 9 }, async () => (await busy.api("GET", "/v1/queues")).status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(2);
  expect((await calm.api("GET", "/v1/queues")).headers.get("x-ratelimit-remaining")).toBe("1");
});

test("a limit that is changed holds without a restart, also for who has just been refused", async ({ service: unlimited }) => {
  const service = await limitedTo(unlimited, { requests_per_minute: 1 });
  const send = () => service.api("GET", "/v1/queues");
  expect([(await send()).status, (await send()).status]).toEqual([200, 429]);
  await setLimits(service, { requests_per_minute: 3 });
  await until(async () => (await send()).headers.get("x-ratelimit-limit") === "3", "the new limit to hold");
  expect([(await send()).status, (await send()).status]).toEqual([200, 429]);
  await setLimits(service, { requests_per_minute: 2 });
  await until(async () => (await send()).headers.get("x-ratelimit-limit") === "2", "the lower limit to hold");
  expect((await send()).headers.get("x-ratelimit-remaining")).toBe("0");
  await setLimits(service, { requests_per_minute: null });
  await until(async () => (await send()).status === 200, "no limit to hold");
});

test("refusals are counted for the operator", async ({ service: unlimited, node }) => {
  const count = async () => {
    const text = await (await fetch(`${node.internalUrl}/metrics`)).text();
    return Number(/^tidemill_requests_rate_limited_total (\d+)$/m.exec(text)?.[1]);
  };
  const service = await limitedTo(unlimited, { requests_per_minute: 1 });
  const before = await count();
  for (let n = 0; n < 4; n += 1) await service.api("GET", "/v1/queues");
  expect(await count()).toBe(before + 3);
});

test("GET /v1/status shows the same figures, and is itself a request", async ({ service: unlimited }) => {
  expect((await unlimited.ok("GET", "/v1/status")).rate_limit).toBeNull();
  const service = await limitedTo(unlimited, { requests_per_minute: 5 });
  await service.api("GET", "/v1/queues");
  const { body, headers } = await service.api("GET", "/v1/status");
  expect(headers.get("x-ratelimit-remaining")).toBe("3");
  expect(body.rate_limit).toEqual({ limit: 5, remaining: 3, resets_at: "2026-11-21T12:01:01.000Z" });
});
