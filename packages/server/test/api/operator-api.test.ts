import { describe, expect } from "vitest";
import { exchange } from "../harness/exchange.ts";
import { OPERATOR_TOKEN, operate } from "../harness/operator.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
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
  ] as const)("makes a workspace on the plan %s, with its limits and a first key that works", async ([plan, expected], { service }) => {
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
  });

  test("makes keys of a workspace, each shown once", async ({ service }) => {
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
          expires_at: expires,
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      ]);
    }
  });

  const routes = (service: Service): [string, string, unknown][] => [
    ["POST", "/admin/v1/workspaces", { name: "x" }],
    ["POST", `/admin/v1/workspaces/${service.workspaceId}/keys`, { name: "x" }],
  ];

  test("refuses every token but the operator's", async ({ service, database }) => {
    const before = await everythingStored(database);
    for (const [method, path, body] of routes(service)) {
      for (const token of [null, "", "x", `${OPERATOR_TOKEN}x`, OPERATOR_TOKEN.slice(1), OPERATOR_TOKEN.toUpperCase(), service.key]) {
        const reply = await operate(service, method, path, body, token);
        expect([path, token, ...faultsOf(reply, "UNAUTHORIZED"), reply.headers.get("www-authenticate")]).toEqual([path, token, "Bearer"]);
      }
    }
    expect(await everythingStored(database)).toEqual(before);
  });

  test("is closed on a node without a token", async ({ service, database, clock }) => {
    const node = await startTestNode(database, clock, { TIDEMILL_ADMIN_TOKEN: "" });
    try {
      for (const token of [null, "", "null", "undefined", OPERATOR_TOKEN]) {
        const reply = await exchange(node.internalUrl, {
          method: "POST",
          path: "/admin/v1/workspaces",
          body: '{"name":"x"}',
          headers: { "content-type": "application/json", ...(token !== null && { authorization: `Bearer ${token}` }) },
        });
        expect([token, reply.status]).toEqual([token, 401]);
      }
      expect(
        (await exchange(node.url, { method: "GET", path: "/v1/queues", headers: { authorization: `Bearer ${service.key}` } })).status,
      ).toBe(200);
    } finally {
      await node.stop();
    }
  });

  test("is not on the public listener, nor /v1 on the internal one", async ({ service }) => {
    for (const [method, path, body] of routes(service)) {
      const reply = await service.api(method, path, body, { authorization: `Bearer ${OPERATOR_TOKEN}` });
      expect([path, ...faultsOf(reply, "NOT_FOUND")]).toEqual([path]);
    }
    expect((await service.api("GET", "/metrics")).status).toBe(404);
    expect(faultsOf(await operate(service, "GET", "/v1/queues", undefined, service.key), "NOT_FOUND")).toEqual([]);
  });

  test("refuses malformed requests and absent workspaces", async ({ service, database }) => {
    const before = await everythingStored(database);
    const [workspaces, keys] = ["/admin/v1/workspaces", `/admin/v1/workspaces/${service.workspaceId}/keys`];
    const name = "x";
    const bad: [string, unknown][] = [
      ...[
        "{",
        "",
        "null",
        "[]",
        {},
        { name: "" },
        { name: 7 },
        { name: "x".repeat(129) },
        { name: "\0" },
        { name: "\ud800" },
        { name, plan: "gold" },
        { name, plan: null },
        { name, nope: 1 },
      ].map((body): [string, unknown] => [workspaces, body]),
      ...[
        "{",
        {},
        { name: "" },
        { name, role: "owner" },
        { name, role: null },
        { name, expires_at: "soon" },
        { name, expires_at: 7 },
        { name, key: "mine" },
      ].map((body): [string, unknown] => [keys, body]),
      ["/admin/v1/workspaces/nope/keys", { name }],
      ["/admin/v1/workspaces/job_01kajv3k4ve6nsd9z5kgtzx0rw/keys", { name }],
    ];
    for (const [path, body] of bad)
      expect([path, body, ...faultsOf(await operate(service, "POST", path, body), "VALIDATION_ERROR")]).toEqual([path, body]);
    expect(
      faultsOf(await operate(service, "POST", "/admin/v1/workspaces/ws_01kajv3k4ve6nsd9z5kgtzx0rw/keys", { name }), "NOT_FOUND"),
    ).toEqual([]);
    const wrong = await operate(service, "PUT", keys);
    expect([...faultsOf(wrong, "METHOD_NOT_ALLOWED"), wrong.headers.get("allow")]).toEqual(["POST"]);
    expect(await everythingStored(database)).toEqual(before);
  });
});
