import { INCLUDED_ROLES, ROLES, type Role } from "@tidemill/contract";
import { expect } from "vitest";
import { operationsOf, pathOf } from "../harness/api-doc.ts";
import { makeKey } from "../harness/operator.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { test } from "../harness/service.ts";
import { LEAST } from "./least-roles.ts";

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
      else
        expect([route, role, ...faultsOf(reply, "FORBIDDEN"), reply.body.error]).toEqual([
          route,
          role,
          { code: "FORBIDDEN", message: `The role of the key is ${role}, and this needs ${needs}.`, details: { role, needs } },
        ]);
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
