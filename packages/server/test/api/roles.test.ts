import { INCLUDED_ROLES, ROLES, type Role } from "@tidemill/contract";
import { expect } from "vitest";
import { operationsOf, pathOf } from "../harness/api-doc.ts";
import { makeKey } from "../harness/operator.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { test } from "../harness/service.ts";

/** The lowest role that each route allows. A new route needs a row here. */
const LEAST: Record<string, Role> = {
  "POST /v1/work": "worker",
  "POST /v1/work/extend": "worker",
  "POST /v1/queues/{name}/jobs/claim": "worker",
  "POST /v1/queues/{name}/jobs/{id}/complete": "worker",
  "POST /v1/queues/{name}/jobs/{id}/fail": "worker",
  "POST /v1/queues/{name}/jobs/{id}/heartbeat": "worker",
  "GET /v1/workers": "read",
  "PUT /v1/workflows/{name}": "worker",
  "GET /v1/workflows": "read",
  "GET /v1/workflows/{name}": "read",
  "GET /v1/workflows/{name}/journals": "read",
  "DELETE /v1/workflows/{name}": "write",
  "POST /v1/workflows/{name}/trigger": "write",
  "POST /v1/workflows/{name}/trigger/batch": "write",
  "GET /v1/runs": "read",
  "GET /v1/runs/{id}": "read",
  "GET /v1/runs/{id}/events": "read",
  "POST /v1/runs/{id}/cancel": "write",
  "POST /v1/runs/{id}/retry": "write",
  "POST /v1/runs/{id}/steps": "worker",
  "POST /v1/work/steps": "worker",
  "GET /v1/runs/{id}/journal": "worker",
  "POST /v1/runs/{id}/events": "worker",
  "POST /v1/runs/{id}/signals": "worker",
  "POST /v1/runs/{id}/invocations": "worker",
  "POST /v1/signals/{id}/complete": "write",
  "POST /v1/events": "write",
  "GET /v1/queues": "read",
  "POST /v1/queues": "write",
  "GET /v1/queues/{name}": "read",
  "PATCH /v1/queues/{name}": "write",
  "DELETE /v1/queues/{name}": "write",
  "POST /v1/queues/{name}/retry-all": "write",
  "GET /v1/queues/{name}/jobs": "read",
  "POST /v1/queues/{name}/jobs": "write",
  "POST /v1/queues/{name}/jobs/batch": "write",
  "GET /v1/queues/{name}/jobs/{id}": "read",
  "DELETE /v1/queues/{name}/jobs/{id}": "write",
  "GET /v1/queues/{name}/jobs/{id}/explain": "read",
  "POST /v1/queues/{name}/jobs/{id}/retry": "write",
  "POST /v1/queues/{name}/jobs/{id}/replay": "write",
  "POST /v1/queues/{name}/jobs/{id}/approve": "write",
  "POST /v1/queues/{name}/jobs/{id}/reject": "write",
  "GET /v1/jobs": "read",
  "GET /v1/jobs/count": "read",
  "POST /v1/jobs/retry": "write",
  "POST /v1/jobs/cancel": "write",
  "POST /v1/jobs/remove": "write",
  "GET /v1/operations": "read",
  "GET /v1/dlq/groups": "read",
  "GET /v1/operations/{id}": "read",
  "POST /v1/operations/{id}/cancel": "write",
  "GET /v1/approvals": "read",
  "GET /v1/schedules": "read",
  "POST /v1/schedules": "write",
  "GET /v1/schedules/preview": "read",
  "GET /v1/schedules/{name}": "read",
  "PATCH /v1/schedules/{name}": "write",
  "PATCH /v1/schedules/{name}/pause": "write",
  "PATCH /v1/schedules/{name}/resume": "write",
  "POST /v1/schedules/{name}/trigger": "write",
  "DELETE /v1/schedules/{name}": "write",
  "GET /v1/dlq": "read",
  "POST /v1/dlq/retry": "write",
  "POST /v1/dlq/purge": "write",
  "GET /v1/webhooks": "read",
  "POST /v1/webhooks": "write",
  "GET /v1/webhooks/{name}": "read",
  "PATCH /v1/webhooks/{name}": "write",
  "DELETE /v1/webhooks/{name}": "write",
  "POST /v1/webhooks/{name}/test": "write",
  "GET /v1/webhooks/{name}/deliveries": "read",
  "GET /v1/webhooks/{name}/deliveries/{id}": "read",
  "POST /v1/webhooks/{name}/deliveries/{id}/replay": "write",
  "GET /v1/secrets": "read",
  "POST /v1/secrets": "admin",
  "PATCH /v1/secrets/{name}": "admin",
  "DELETE /v1/secrets/{name}": "admin",
  "GET /v1/keys": "admin",
  "POST /v1/keys": "admin",
  "DELETE /v1/keys/{id}": "admin",
  "GET /v1/members": "admin",
  "POST /v1/members": "admin",
  "PATCH /v1/members/{id}": "admin",
  "DELETE /v1/members/{id}": "admin",
  "GET /v1/invitations": "admin",
  "POST /v1/invitations": "admin",
  "DELETE /v1/invitations/{id}": "admin",
  "GET /v1/audit-events": "admin",
  "GET /v1/usage": "read",
  "GET /v1/metrics": "read",
  "GET /v1/changes": "read",
  "GET /v1/deploys": "read",
  "POST /v1/deploys": "write",
  "GET /v1/status": "read",
  "GET /v1/live": "read",
};

test("every route has its least role here, and no other", async ({ service }) => {
  const documented = (await operationsOf(service)).map(({ method, path }) => `${method} ${path}`);
  expect(documented.sort()).toEqual(Object.keys(LEAST).sort());
});

test("every route lets keys of its least role and of those above it pass, and refuses the others", async ({ service, database }) => {
  const keys = { admin: "", write: "", read: "", worker: "" };
  for (const role of ROLES) keys[role] = await makeKey(service, { role });
  const before = await everythingStored(database);
  let refused = 0;
  for (const operation of await operationsOf(service)) {
    const route = `${operation.method} ${operation.path}`;
    const needs = LEAST[route] as Role;
    for (const role of ROLES) {
      // Missing resources and empty bodies: a request that is allowed gets another error, and nothing is stored.
      const reply = await sendRaw(service.node.url, {
        method: operation.method,
        path: pathOf(operation),
        headers: { authorization: `Bearer ${keys[role]}` },
      });
      const may = INCLUDED_ROLES[role].includes(needs);
      if (may) expect([route, role, reply.status]).not.toEqual([route, role, 403]);
      else expect([route, role, ...faultsOf(reply, "FORBIDDEN"), reply.body.error.details]).toEqual([route, role, { role, needs }]);
      refused += may ? 0 : 1;
    }
  }
  expect(refused).toBeGreaterThan(15);
  expect(await everythingStored(database)).toEqual(before);
});

test("a request that a role refuses changes nothing, though there is what it names", async ({ service, database }) => {
  const name = await service.queue();
  const { id } = await service.enqueue({ queue: name, delay: 60 });
  await service.ok("POST", "/v1/secrets", { name: "STRIPE_KEY", value: "guarded" });
  await service.ok("POST", "/v1/schedules", { queue: name, cron: "@yearly", timezone: "UTC" });
  const { id: keyId } = (await service.ok("GET", "/v1/keys")).data[0];
  const keys = { write: await makeKey(service, { role: "write" }), read: await makeKey(service, { role: "read" }) };
  const before = await everythingStored(database);
  for (const operation of await operationsOf(service)) {
    const needs = LEAST[`${operation.method} ${operation.path}`] as Role;
    for (const role of ["write", "read"] as const) {
      if (INCLUDED_ROLES[role].includes(needs)) continue;
      const named = operation.path.startsWith("/v1/secrets/") ? "STRIPE_KEY" : name;
      const path = pathOf(operation, { name: named, id: operation.path.startsWith("/v1/keys/") ? keyId : id });
      const example = operation.requestBody?.content["application/json"]?.example;
      const reply = await service.api(operation.method, path, example, { authorization: `Bearer ${keys[role]}` });
      expect([path, role, reply.status]).toEqual([path, role, 403]);
    }
  }
  expect(await everythingStored(database)).toEqual(before);
});
