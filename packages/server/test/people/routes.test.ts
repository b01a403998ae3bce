import { INCLUDED_ROLES, PERSON_ROLES, type Role } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { LEAST } from "../api/least-roles.ts";
import { operationsOf, pathOf } from "../harness/api-doc.ts";
import { comparable } from "../harness/operator.ts";
import { Browser, newPerson } from "../harness/people.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { newWorkspace, Service, test } from "../harness/service.ts";

const ABSENT = `ws_${"0".repeat(26)}`;

describe("every route, for people", () => {
  test("each lets people of its least role and of those above it pass, and refuses the others and guests", async ({
    service,
    database,
  }) => {
    const people = {
      admin: await newPerson(service),
      write: await newPerson(service, { role: "write" }),
      read: await newPerson(service, { role: "read" }),
    };
    // An operator who is no member may read.
    const operator = await newPerson(service, { role: null, operator: true });
    const guest = new Browser(service.node.url);
    const before = await everythingStored(database);
    let refused = 0;
    for (const operation of await operationsOf(service)) {
      // It does not end. Its own tests open it.
      if (operation.path === "/v1/live") continue;
      const route = `${operation.method} ${operation.path}`;
      const needs = LEAST[route] as Role;
      for (const role of PERSON_ROLES) {
        // Missing resources and empty bodies: a request that is allowed gets another error, and nothing is stored.
        const reply = await people[role].api(service.workspaceId, operation.method, pathOf(operation));
        const may = INCLUDED_ROLES[role].includes(needs);
        if (may) expect([route, role, reply.status]).not.toEqual([route, role, 403]);
        else expect([route, role, ...faultsOf(reply, "FORBIDDEN"), reply.body.error.details]).toEqual([route, role, { role, needs }]);
        refused += may ? 0 : 1;
      }
      const asOperator = await operator.api(service.workspaceId, operation.method, pathOf(operation));
      const { status } = asOperator;
      if (INCLUDED_ROLES.read.includes(needs)) expect([route, "operator", status]).not.toEqual([route, "operator", 403]);
      else expect([route, "operator", ...faultsOf(asOperator, "FORBIDDEN")]).toEqual([route, "operator"]);
      const crossSite = { "sec-fetch-site": "cross-site" };
      const byOther = await people.admin.api(service.workspaceId, operation.method, pathOf(operation), undefined, crossSite);
      expect([route, "another site", ...faultsOf(byOther, "FORBIDDEN")]).toEqual([route, "another site"]);
      const asGuest = await guest.api(service.workspaceId, operation.method, pathOf(operation));
      expect([route, asGuest.status, asGuest.body.error.code]).toEqual([route, 401, "UNAUTHORIZED"]);
    }
    expect(refused).toBeGreaterThan(40);
    expect(await everythingStored(database)).toEqual(before);
  });

  test("each answers for a workspace of others as for one that does not exist, to the byte", async ({ service, database, clock }) => {
    const person = await newPerson(service);
    const theirs = new Service(service.node, database, clock, await newWorkspace(database));
    for (const operation of await operationsOf(service)) {
      const ask = async (workspaceId: string) => {
        const reply = await person.api(workspaceId, operation.method, pathOf(operation));
        return comparable({ ...reply, text: reply.text.replaceAll(workspaceId, "THE ID") });
      };
      const absent = await ask(ABSENT);
      expect([operation.id, absent]).toEqual([operation.id, expect.objectContaining({ status: 404 })]);
      expect([operation.id, await ask(theirs.workspaceId)]).toEqual([operation.id, absent]);
    }
  });
});
