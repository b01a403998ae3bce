import { describe, expect } from "vitest";
import { OPERATOR_TOKEN, operate } from "../harness/operator.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { type Service, startTestNode, test } from "../harness/service.ts";

const KEY = /^svc_ws_[0-9A-Za-z]{38}$/;

describe("the operator API", () => {
  const limits = (executions_per_month: number | null, requests_per_minute: number | null, retention_days: number | null) => ({
    executions_per_month,
    requests_per_minute,
    retention_days,
  });

  test.for([
    ["free", limits(10_000, 60, 7)],
    ["pro", limits(100_000, 300, 30)],
    ["team", limits(1_000_000, 1_000, 90)],
    ["enterprise", limits(null, null, 365)],
  ] as const)(
    "the operator API makes a workspace on the plan %s, with its limits and a first key that works",
    async ([plan, expected], { service }) => {
      const { status, headers, body } = await operate(service, "POST", "/admin/v1/workspaces", { name: "Ada's", plan });
      expect([status, headers.get("content-type")]).toEqual([201, "application/json; charset=utf-8"]);
      expect(body).toEqual({
        id: expect.stringMatching(/^ws_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        name: "Ada's",
        plan,
        limits: expected,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        key: expect.stringMatching(KEY),
      });
      const queue = await service.api("POST", "/v1/queues", { name: "first" }, { authorization: `Bearer ${body.key}` });
      expect(queue.status).toBe(201);
      expect((await service.api("GET", "/v1/queues/first")).status).toBe(404);
    },
  );

  test("the operator API makes a workspace with limits of its own over the plan's", async ({ service }) => {
    for (const [own, expected] of [
      [{ requests_per_minute: 1 }, limits(100_000, 1, 30)],
      [{ executions_per_month: 0, requests_per_minute: null, retention_days: 36_500 }, limits(0, null, 36_500)],
      [{}, limits(100_000, 300, 30)],
    ] as const) {
      const { status, body } = await operate(service, "POST", "/admin/v1/workspaces", { name: "Own", plan: "pro", limits: own });
      expect([status, body.limits]).toEqual([201, expected]);
    }
  });

  test("the operator API makes keys of a workspace, each shown once", async ({ service }) => {
    const expires_at = "2030-01-01T00:00:00.000Z";
    const path = `/admin/v1/workspaces/${service.workspaceId}/keys`;
    for (const [sent, role, expires] of [
      [{ role: "read", expires_at }, "read", expires_at],
      [{ role: "write", expires_at: null }, "write", null],
      [{ role: "admin" }, "admin", null],
    ] as const) {
      const { status, body } = await operate(service, "POST", path, { name: "Deploys", ...sent });
      expect([status, body]).toEqual([
        201,
        {
          id: expect.stringMatching(/^key_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
          name: "Deploys",
          role,
          key: expect.stringMatching(KEY),
          queues: null,
          workflows: null,
          expires_at: expires,
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      ]);
    }
  });

  const routes = (service: Service): [string, string, unknown?][] => {
    const own = `/admin/v1/workspaces/${service.workspaceId}`;
    return [
      ["GET", "/admin/v1/workspaces"],
      ["POST", "/admin/v1/workspaces", { name: "x" }],
      ["GET", own],
      ["PATCH", own, { name: "x" }],
      ["DELETE", own],
      ["GET", `${own}/keys`],
      ["POST", `${own}/keys`, { name: "x" }],
      ["DELETE", `${own}/keys/key_01kajv3k4ve6nsd9z5kgtzx0rw`],
    ];
  };

  test("the operator API refuses every token but the operator's", async ({ service, database }) => {
    const before = await everythingStored(database);
    for (const [method, path, body] of routes(service)) {
      for (const token of [null, "", "x", `${OPERATOR_TOKEN}x`, OPERATOR_TOKEN.slice(1), OPERATOR_TOKEN.toUpperCase(), service.key]) {
        const reply = await operate(service, method, path, body, token);
        expect([method, path, token, ...faultsOf(reply, "UNAUTHORIZED"), reply.headers.get("www-authenticate")]).toEqual([
          method,
          path,
          token,
          "Bearer",
        ]);
      }
    }
    expect(await everythingStored(database)).toEqual(before);
  });

  test("the operator API is closed on a node without a token", async ({ service, database, clock }) => {
    const node = await startTestNode(database, clock, { TIDEMILL_ADMIN_TOKEN: "" });
    try {
      for (const token of [null, "", "null", "undefined", OPERATOR_TOKEN]) {
        const reply = await sendRaw(node.internalUrl, {
          method: "POST",
          path: "/admin/v1/workspaces",
          body: '{"name":"x"}',
          headers: { "content-type": "application/json", ...(token !== null && { authorization: `Bearer ${token}` }) },
        });
        expect([token, reply.status]).toEqual([token, 401]);
      }
      expect(
        (await sendRaw(node.url, { method: "GET", path: "/v1/queues", headers: { authorization: `Bearer ${service.key}` } })).status,
      ).toBe(200);
    } finally {
      await node.stop();
    }
  });

  test("the operator API is not on the public listener, nor /v1 on the internal one", async ({ service }) => {
    for (const [method, path, body] of routes(service)) {
      const reply = await service.api(method, path, body, { authorization: `Bearer ${OPERATOR_TOKEN}` });
      expect([path, ...faultsOf(reply, "NOT_FOUND")]).toEqual([path]);
    }
    expect((await service.api("GET", "/metrics")).status).toBe(404);
    expect(faultsOf(await operate(service, "GET", "/v1/queues", undefined, service.key), "NOT_FOUND")).toEqual([]);
  });

  test("the operator API refuses malformed requests and absent workspaces", async ({ service, database }) => {
    const before = await everythingStored(database);
    const [workspaces, keys] = ["/admin/v1/workspaces", `/admin/v1/workspaces/${service.workspaceId}/keys`];
    const name = "x";
    const own = `/admin/v1/workspaces/${service.workspaceId}`;
    const ABSENT = "ws_01kajv3k4ve6nsd9z5kgtzx0rw";
    // biome-ignore format: a table
    const names: unknown[] = [{ name: "" }, { name: 7 }, { name: null }, { name: "x".repeat(129) }, { name: "\0" }, { name: "\ud800" }];
    const badLimits = [
      7,
      null,
      { nope: 1 },
      ...["executions_per_month", "requests_per_minute", "retention_days"].flatMap((limit) =>
        ["1", 1.5, -1, true, 2 ** 53].map((value) => ({ [limit]: value })),
      ),
      { requests_per_minute: 0 },
      { requests_per_minute: 2 ** 31 },
      { retention_days: 0 },
      { retention_days: 36_501 },
    ];
    const terms = [{ plan: "gold" }, { plan: null }, { nope: 1 }, ...badLimits.map((limits) => ({ limits }))];
    const bad: [string, string, unknown?][] = [
      ...["{", "", "null", "[]", {}, ...names, ...terms.map((one) => ({ name, ...one }))].map((body): [string, string, unknown] => [
        "POST",
        workspaces,
        body,
      ]),
      ...["{", "", "null", "[]", {}, ...names, ...terms].map((body): [string, string, unknown] => ["PATCH", own, body]),
      ...[
        "{",
        {},
        { name: "" },
        { name, role: "owner" },
        { name, role: null },
        { name, expires_at: "soon" },
        { name, expires_at: 7 },
        { name, expires_at: "2026-11-21T12:00:00Z" },
        { name, key: "mine" },
      ].map((body): [string, string, unknown] => ["POST", keys, body]),
      ...["nope", "job_01kajv3k4ve6nsd9z5kgtzx0rw"].flatMap((id): [string, string, unknown?][] => [
        ["GET", `${workspaces}/${id}`],
        ["PATCH", `${workspaces}/${id}`, { name }],
        ["DELETE", `${workspaces}/${id}`],
        ["GET", `${workspaces}/${id}/keys`],
        ["POST", `${workspaces}/${id}/keys`, { name }],
        ["DELETE", `${workspaces}/${id}/keys/key_01kajv3k4ve6nsd9z5kgtzx0rw`],
        ["DELETE", `${keys}/${id}`],
      ]),
      ["DELETE", own, { yes: true }],
      ...["limit=0", "limit=101", "cursor=", "cursor=job_01kajv3k4ve6nsd9z5kgtzx0rw", "limi=1"].flatMap((query): [string, string][] => [
        ["GET", `${workspaces}?${query}`],
        ["GET", `${keys}?${query}`],
      ]),
    ];
    for (const [method, path, body] of bad) {
      const reply = await operate(service, method, path, body);
      expect([method, path, body, ...faultsOf(reply, "VALIDATION_ERROR")]).toEqual([method, path, body]);
    }
    for (const [method, path, body] of [
      ["GET", `${workspaces}/${ABSENT}`],
      ["PATCH", `${workspaces}/${ABSENT}`, { name }],
      ["DELETE", `${workspaces}/${ABSENT}`],
      ["GET", `${workspaces}/${ABSENT}/keys`],
      ["POST", `${workspaces}/${ABSENT}/keys`, { name }],
      ["DELETE", `${workspaces}/${ABSENT}/keys/key_01kajv3k4ve6nsd9z5kgtzx0rw`],
      ["DELETE", `${keys}/key_01kajv3k4ve6nsd9z5kgtzx0rw`],
    ] as [string, string, unknown?][]) {
      expect([method, path, ...faultsOf(await operate(service, method, path, body), "NOT_FOUND")]).toEqual([method, path]);
    }
    const wrong = await operate(service, "PUT", keys);
    expect([...faultsOf(wrong, "METHOD_NOT_ALLOWED"), wrong.headers.get("allow")]).toEqual(["GET, HEAD, POST"]);
    expect(await everythingStored(database)).toEqual(before);
  });
});
