import { PLANS } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { audited } from "../harness/audit-events.ts";
import { operate } from "../harness/operator.ts";
import { everythingStored } from "../harness/problem.ts";
import { newWorkspace, Service, test, until } from "../harness/service.ts";

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const WORKSPACES = "/admin/v1/workspaces";

/** Creates a workspace on this plan. Returns what its owner gets. */
async function customer({ node, database, clock }: Service, plan: keyof typeof PLANS = "pro"): Promise<Service> {
  return new Service(node, database, clock, await newWorkspace(database, plan));
}

const own = ({ workspaceId }: Service): string => `${WORKSPACES}/${workspaceId}`;

async function patch(service: Service, body: unknown) {
  const reply = await operate(service, "PATCH", own(service), body);
  expect([reply.status, reply.text]).toEqual([200, expect.anything()]);
  return reply.body;
}

describe("the operator's workspaces", () => {
  test("the operator's workspaces are listed newest first, in pages; each is shown as the list shows it", async ({ service }) => {
    const made: string[] = [];
    for (const name of ["one", "two", "two", "three"]) {
      made.unshift((await operate(service, "POST", WORKSPACES, { name, plan: "team" })).body.id);
    }
    await operate(service, "DELETE", `${WORKSPACES}/${made[2]}`);
    const listed: { id: string }[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { body } = await operate(service, "GET", `${WORKSPACES}?limit=2${cursor && `&cursor=${cursor}`}`);
      expect(body.data.length).toBeLessThanOrEqual(2);
      listed.push(...body.data);
      cursor = body.next_cursor;
    }
    const found = listed.filter(({ id }) => made.includes(id));
    expect(found.map(({ id }) => id)).toEqual([made[0], made[1], made[3]]);
    expect(found[0]).toEqual({
      id: made[0],
      name: "three",
      plan: "team",
      limits: PLANS.team.limits,
      created_at: MOMENT,
      updated_at: MOMENT,
    });
    for (const shown of found) expect((await operate(service, "GET", `${WORKSPACES}/${shown.id}`)).body).toEqual(shown);
  });

  test("the operator's workspaces are renamed, and nothing else changes", async ({ service, clock }) => {
    const acme = await customer(service);
    const before = (await operate(service, "GET", own(acme))).body;
    await clock.advance(10);
    const after = await patch(acme, { name: "Acme" });
    expect(after).toEqual({ ...before, name: "Acme", updated_at: new Date(clock.nowMs()).toISOString() });
    expect((await operate(service, "GET", own(acme))).body).toEqual(after);
  });

  test("the operator's workspaces get the limits of a new plan, and over them those that are given", async ({ service }) => {
    const acme = await customer(service);
    expect(await patch(acme, { limits: { requests_per_minute: 7 } })).toMatchObject({
      plan: "pro",
      limits: { ...PLANS.pro.limits, requests_per_minute: 7 },
    });
    expect(await patch(acme, { limits: { executions_per_month: null } })).toMatchObject({
      plan: "pro",
      limits: { ...PLANS.pro.limits, requests_per_minute: 7, executions_per_month: null },
    });
    expect(await patch(acme, { plan: "team", limits: { retention_days: 1 } })).toMatchObject({
      plan: "team",
      limits: { ...PLANS.team.limits, retention_days: 1 },
    });
    expect(await patch(acme, { plan: "team" })).toMatchObject({ plan: "team", limits: PLANS.team.limits });
  });

  test("the operator's workspaces know when their limits last changed", async ({ service, clock, database }) => {
    const acme = await customer(service);
    const changedAt = async () =>
      (
        await database.query<{ at: Date }>(
          "select limits_changed_at as at from workspace join api_key k on k.workspace_id = workspace.id where k.hash = sha256($1::text::bytea)",
          [acme.key],
        )
      )[0]?.at.getTime();
    const first = await changedAt();
    for (const [request, changes] of [
      [{ name: "Acme" }, false],
      [{ plan: "pro" }, false],
      [{ limits: {} }, false],
      [{ limits: PLANS.pro.limits }, false],
      [{ plan: "team", limits: PLANS.pro.limits }, true],
      [{ limits: { requests_per_minute: 1 } }, true],
      [{ limits: { retention_days: 1 } }, true],
      [{ limits: { executions_per_month: 1 } }, true],
    ] as const) {
      const before = await changedAt();
      await clock.advance(1);
      await patch(acme, request);
      expect([request, await changedAt()]).toEqual([request, changes ? clock.nowMs() : before]);
    }
    expect(first).not.toBe(await changedAt());
  });

  test("the operator's workspaces have their own keys listed and revoked", async ({ service }) => {
    const acme = await customer(service);
    const { body: made } = await operate(service, "POST", `${own(acme)}/keys`, { name: "ops", role: "read" });
    const { body: listed } = await operate(service, "GET", `${own(acme)}/keys?limit=100`);
    expect(listed).toEqual(await acme.ok("GET", "/v1/keys?limit=100"));
    expect(listed.data.map(({ name }: { name: string }) => name).sort()).toEqual(["First key", "ops"]);
    const bearer = { authorization: `Bearer ${made.key}` };
    expect((await acme.api("GET", "/v1/queues", undefined, bearer)).status).toBe(200);
    expect((await operate(service, "DELETE", `${own(service)}/keys/${made.id}`)).status).toBe(404);
    expect((await operate(service, "DELETE", `${own(acme)}/keys/${made.id}`)).status).toBe(204);
    expect((await acme.api("GET", "/v1/queues", undefined, bearer)).status).toBe(401);
    expect((await operate(service, "DELETE", `${own(acme)}/keys/${made.id}`)).status).toBe(404);
  });

  test("the operator's workspaces keep in their audit log what the operator did", async ({ service }) => {
    const { body: made } = await operate(service, "POST", WORKSPACES, { name: "Acme", plan: "pro", limits: { requests_per_minute: 7 } });
    const acme = new Service(service.node, service.database, service.clock, made);
    const key = (await operate(service, "POST", `${own(acme)}/keys`, { name: "ops", role: "read" })).body;
    await patch(acme, { name: "Acme & Sons", plan: "team" });
    await operate(service, "DELETE", `${own(acme)}/keys/${key.id}`);
    await operate(service, "DELETE", own(acme));
    const limits = { ...PLANS.pro.limits, requests_per_minute: 7 };
    const [before, after] = [
      { name: "Acme", plan: "pro", limits },
      { name: "Acme & Sons", plan: "team", limits: PLANS.team.limits },
    ];
    const by = { actor: "operator", resource: made.id, output: null };
    const ops = {
      actor: "operator",
      resource: key.id,
      input: { name: "ops", role: "read", queues: null, workflows: null, expires_at: null },
      output: null,
    };
    expect(await audited(service, made.id, "workspace", "key")).toEqual([
      { ...by, type: "workspace.created", input: before },
      {
        ...by,
        type: "key.created",
        resource: expect.any(String),
        input: { name: "First key", role: "admin", queues: null, workflows: null, expires_at: null },
      },
      { ...ops, type: "key.created" },
      { ...by, type: "workspace.updated", input: { name: "Acme & Sons", plan: "team" }, output: { before, after } },
      { ...ops, type: "key.revoked" },
      { ...by, type: "workspace.deleted", input: after },
    ]);
  });
});

describe("a deleted workspace", () => {
  test("a deleted workspace is gone for its keys, the operator and the lists, at once", async ({ service }) => {
    const acme = await customer(service);
    const other = await acme.ok("POST", "/v1/keys", { name: "other" });
    await acme.queue();
    expect((await operate(service, "DELETE", own(acme))).status).toBe(204);
    for (const key of [acme.key, other.key]) {
      expect((await acme.api("GET", "/v1/queues", undefined, { authorization: `Bearer ${key}` })).status).toBe(401);
    }
    const before = await everythingStored(service.database);
    for (const [method, path, body] of [
      ["GET", own(acme)],
      ["PATCH", own(acme), { name: "x" }],
      ["DELETE", own(acme)],
      ["GET", `${own(acme)}/keys`],
      ["POST", `${own(acme)}/keys`, { name: "x" }],
    ] as const) {
      expect([method, path, (await operate(service, method, path, body)).status]).toEqual([method, path, 404]);
    }
    expect((await operate(service, "GET", `${WORKSPACES}?limit=100`)).text).not.toContain(acme.workspaceId);
    expect(await everythingStored(service.database)).toEqual(before);
  });

  test("a deleted workspace has its attempts under way broken off, and starts no others; a neighbour's go on", async ({ service }) => {
    const acme = await customer(service);
    const [hanging, quiet] = [await acme.handler({ answers: "hang", callback_timeout: 900 }), await acme.handler({ paused: true })];
    const theirs = await service.handler({ answers: "hang", callback_timeout: 900 });
    await acme.enqueue({ queue: hanging.queue });
    await acme.enqueue({ queue: quiet.queue });
    await service.enqueue({ queue: theirs.queue });
    await until(() => hanging.open === 1 && theirs.open === 1, "the attempts to be under way");
    await operate(service, "DELETE", own(acme));
    await until(() => hanging.open === 0, "the attempt to be broken off");
    expect([hanging.aborted, theirs.open, quiet.received.length]).toEqual([1, 1, 0]);
    const deleted = await service.database.query<{ revision: number }>(
      `select q.revision from lane q join api_key k using (workspace_id)
       where k.hash = sha256($1::text::bytea) and q.deleted_at is not null order by 1`,
      [acme.key],
    );
    expect(deleted).toEqual([{ revision: 2 }, { revision: 2 }]);
    theirs.release();
    await acme.close();
  });
});
