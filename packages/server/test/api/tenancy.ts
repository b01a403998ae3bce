import { describe, expect } from "vitest";
import { bodySchemaOf, type Operation, operationsOf, pathOf } from "../harness/api-doc.ts";
import type { Reply } from "../harness/ask.ts";
import { comparable } from "../harness/operator.ts";
import { newPerson } from "../harness/people.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { newWorkspace, Service, type test as Test, until } from "../harness/service.ts";

const ABSENT_JOB = "job_01kajv3k4ve6nsd9z5kgtzx0rw";
const ABSENT_DELIVERY = "whd_01kajv3k4ve6nsd9z5kgtzx0rw";
const ABSENT_OPERATION = "op_01kajv3k4ve6nsd9z5kgtzx0rw";
const ABSENT_RUN = "run_01kajv3k4ve6nsd9z5kgtzx0rw";
const ABSENT_KEY = "key_01kajv3k4ve6nsd9z5kgtzx0rw";
const ABSENT_MEMBER = "usr_01kajv3k4ve6nsd9z5kgtzx0rw";
const ABSENT_INVITATION = "inv_01kajv3k4ve6nsd9z5kgtzx0rw";
const ABSENT_IDS: Record<string, string> = {
  key: ABSENT_KEY,
  run: ABSENT_RUN,
  usr: ABSENT_MEMBER,
  inv: ABSENT_INVITATION,
  whd: ABSENT_DELIVERY,
  op_: ABSENT_OPERATION,
};

/** The resource that a path names. */
interface Named {
  readonly name: string;
  readonly id: string;
}

/** Another tenant, with a workspace on the same node. */
async function neighbour({ node, database, clock }: Service): Promise<Service> {
  return new Service(node, database, clock, await newWorkspace(database));
}

/** Registers a workflow with this name, and starts a run of it. Returns its id. */
async function furnishRun(service: Service, name: string): Promise<string> {
  await service.ok("PUT", `/v1/workflows/${name}`, {});
  return (await service.ok("POST", `/v1/workflows/${name}/trigger`, { delay: 60 })).runIds[0];
}

/** Creates a webhook with this name, and a delivery of it that has ended. Returns its id. */
async function furnishDelivery(service: Service, name: string): Promise<string> {
  const { url } = await service.handler();
  await service.ok("POST", "/v1/webhooks", { name, url, events: ["run.failed"] });
  const { id } = await service.ok("POST", `/v1/webhooks/${name}/test`);
  await until(async () => (await service.ok("GET", `/v1/webhooks/${name}/deliveries/${id}`)).state === "delivered");
  return id;
}

/** Creates a queue with this name and a job in each state that callers can act on. Returns the jobs' ids. */
async function furnish(service: Service, name: string): Promise<string[]> {
  const handler = await service.handler({ answers: ({ body }) => (body.payload === "fail" ? 500 : 200) });
  await service.ok("POST", "/v1/queues", { name, callback_url: handler.url, defaultJobOptions: { attempts: 1 } });
  await service.ok("POST", "/v1/secrets", { name: name.toUpperCase(), value: `what ${name} has` });
  await service.ok("POST", "/v1/schedules", { name, queue: name, cron: "@yearly", timezone: "UTC", payload: name });
  const { jobs } = await service.ok("POST", `/v1/queues/${name}/jobs/batch`, [
    { payload: "complete" },
    { payload: "fail" },
    { payload: "cancel", delay: 60 },
    { payload: "wait", delay: 60 },
  ]);
  const ids = (jobs as { id: string }[]).map(({ id }) => id);
  await service.untilState({ id: ids[0] as string, queue: name }, "completed");
  await service.untilState({ id: ids[1] as string, queue: name }, "failed");
  await service.ok("DELETE", `/v1/queues/${name}/jobs/${ids[2]}`);
  return ids;
}

/** The query parameters that an operation requires, from its examples. */
function neededQuery({ parameters }: Operation): string {
  const needed = parameters.filter((one) => one.in === "query" && one.required);
  return needed.map(({ name, example }, at) => `${at === 0 ? "?" : "&"}${name}=${encodeURIComponent(String(example))}`).join("");
}

const ask = (
  service: Service,
  operation: Operation,
  named: Partial<Named>,
  {
    query = neededQuery(operation),
    body = operation.requestBody?.content["application/json"]?.example,
  }: { query?: string; body?: unknown } = {},
) =>
  sendRaw(service.node.url, {
    method: operation.method,
    path: pathOf(operation, named) + query,
    headers: { authorization: `Bearer ${service.key}`, ...(operation.requestBody && { "content-type": "application/json" }) },
    ...(operation.requestBody && { body: JSON.stringify(body) }),
  });

/** The same names for resources that exist in no workspace. The name of the caller's own queue stays. */
const absentTwin = ({ name, id }: Named): Named => ({
  name: name.replace("theirs", "absent").replace("THEIRS", "ABSENT"),
  id: ABSENT_IDS[id.slice(0, 3)] ?? (id && ABSENT_JOB),
});

const names = (operation: Operation): string[] => operation.parameters.filter((one) => one.in === "path").map(({ name }) => name);

/** The isolation of workspaces, as callers see it. Source: contract §1, `NOT_FOUND`. */
export function describeTenancy(test: typeof Test): void {
  describe("what another workspace has", () => {
    test("what another workspace has answers every route as what is not there does, to the byte", async ({ service }) => {
      const other = await neighbour(service);
      const ids = await furnish(other, "theirs");
      const mine = await furnish(service, "mine");
      await furnish(other, "mine");
      await service.ok("POST", "/v1/queues", { name: "mine-too" });
      const theirRun = await furnishRun(other, "theirs");
      const theirDelivery = await furnishDelivery(other, "theirs");
      await furnishDelivery(service, "mine");
      const theirOperation = (await other.ok("POST", "/v1/jobs/retry", { filter: { queue: "nowhere" } })).id;
      await until(async () => (await other.ok("GET", `/v1/operations/${theirOperation}`)).state !== "running");
      const theirKeys = (await other.ok("GET", "/v1/keys")).data as { id: string }[];
      const theirMember = await newPerson(other);
      const theirInvitation = await other.ok("POST", "/v1/invitations", { role: "read" });
      const before = await everythingStored(service.database);
      let compared = 0;
      for (const operation of (await operationsOf(service)).filter((one) => names(one).length > 0 && one.method !== "PUT")) {
        expect([operation.id, names(operation).every((name) => name === "name" || name === "id")]).toEqual([operation.id, true]);
        const ofKeys = operation.path.startsWith("/v1/keys/");
        const ofSecrets = operation.path.startsWith("/v1/secrets/");
        const jobs: Named[] = [
          ...ids.map((id) => ({ name: "theirs", id })),
          ...ids.map((id) => ({ name: "mine", id })),
          ...mine.map((id) => ({ name: "mine-too", id })),
          { name: "mine", id: ABSENT_JOB },
        ];
        const keys: Named[] = theirKeys.map(({ id }) => ({ name: "", id }));
        const ofRuns = operation.path.startsWith("/v1/runs/");
        const deliveries = ["theirs", "mine"].map((name) => ({ name, id: theirDelivery }));
        const foreign = operation.path.includes("/deliveries/")
          ? deliveries
          : operation.path.startsWith("/v1/operations/")
            ? [{ name: "", id: theirOperation }]
            : operation.path.startsWith("/v1/members/")
              ? [{ name: "", id: theirMember.id }]
              : operation.path.startsWith("/v1/invitations/")
                ? [{ name: "", id: theirInvitation.id as string }]
                : ofRuns
                  ? [{ name: "", id: theirRun }]
                  : ofKeys
                    ? keys
                    : names(operation).includes("id")
                      ? jobs
                      : [{ name: ofSecrets ? "THEIRS" : "theirs", id: "" }];
        expect([operation.id, foreign.length > 0]).toEqual([operation.id, true]);
        for (const named of foreign) {
          const twin = absentTwin(named);
          const [theirs, absent] = [await ask(service, operation, named), await ask(service, operation, twin)];
          expect([operation.id, ...faultsOf(absent, "NOT_FOUND")]).toEqual([operation.id]);
          // Names and ids are as long as their twins': a reply says the ones that it was asked for.
          const asked = { ...theirs, text: theirs.text.replaceAll(named.name, twin.name).replaceAll(named.id, twin.id) };
          expect([operation.id, named, comparable(asked)]).toEqual([operation.id, named, comparable(absent)]);
          compared += 1;
        }
      }
      expect(compared).toBeGreaterThan(20);
      expect(await everythingStored(service.database)).toEqual(before);
    });

    test("a name that another workspace has answers, byte for byte, as it did before anybody had it, and never suggests it", async ({
      service,
    }) => {
      await service.ok("POST", "/v1/queues", { name: "mine" });
      await service.ok("POST", "/v1/schedules", { name: "mine", queue: "mine", cron: "@yearly", timezone: "UTC" });
      const operations = await operationsOf(service);
      const askAll = async () => {
        const replies: [string, string, unknown][] = [];
        for (const name of ["email", "emial"]) {
          for (const operation of operations.filter((one) => names(one).includes("name") && one.method !== "PUT")) {
            const id = operation.path.includes("/deliveries/") ? ABSENT_DELIVERY : ABSENT_JOB;
            const named = { name: operation.path.startsWith("/v1/secrets/") ? name.toUpperCase() : name, id };
            replies.push([operation.id, named.name, comparable(await ask(service, operation, named))]);
          }
          for (const operation of operations.filter((one) => bodySchemaOf(one)?.properties?.queue)) {
            const body = { ...(operation.id === "createSchedule" && { cron: "@daily", timezone: "UTC" }), queue: name };
            replies.push([operation.id, name, comparable(await ask(service, operation, { name: "mine" }, { body }))]);
          }
        }
        return replies;
      };
      const before = await askAll();
      expect(before.length).toBeGreaterThan(40);
      for (const [operation, name, reply] of before)
        expect([operation, name, reply]).toEqual([
          operation,
          name,
          expect.objectContaining({ status: 404, text: expect.stringContaining(name) }),
        ]);
      const theirs = await neighbour(service);
      await furnish(theirs, "email");
      await furnishRun(theirs, "email");
      await furnishDelivery(theirs, "email");
      expect(await askAll()).toEqual(before);
    });

    test("what another workspace has answers as what is not there does where a body or a filter names a queue", async ({ service }) => {
      const other = await neighbour(service);
      await furnish(other, "theirs");
      await service.ok("POST", "/v1/queues", { name: "mine" });
      await service.ok("POST", "/v1/schedules", { queue: "mine", cron: "@yearly", timezone: "UTC" });
      const before = await everythingStored(service.database);
      const operations = await operationsOf(service);
      const byBody = operations.filter((operation) => bodySchemaOf(operation)?.properties?.queue);
      const byFilter = operations.filter(({ parameters }) => parameters.some(({ name }) => name === "queue"));
      expect([byBody.map(({ id }) => id).sort(), byFilter.map(({ id }) => id).sort()]).toEqual([
        ["createSchedule", "patchSchedule", "purgeDeadLetters", "retryDeadLetters"],
        ["countJobs", "getMetrics", "listAllJobs", "listApprovals", "listChanges", "listDeadLetters", "listSchedules"],
      ]);
      for (const operation of byBody) {
        const example = operation.id === "createSchedule" ? { cron: "@daily", timezone: "UTC" } : {};
        const [theirs, absent] = [
          await ask(service, operation, { name: "mine" }, { body: { ...example, queue: "theirs" } }),
          await ask(service, operation, { name: "mine" }, { body: { ...example, queue: "absent" } }),
        ];
        expect([operation.id, theirs.status]).toEqual([operation.id, 404]);
        // Of the two names, which are as long as each other, a reply may have the one that it was asked for.
        const asked = { ...theirs, text: theirs.text.replaceAll("theirs", "absent") };
        expect([operation.id, comparable(asked)]).toEqual([operation.id, comparable(absent)]);
      }
      for (const operation of byFilter) {
        const [theirs, absent] = [
          await ask(service, operation, {}, { query: "?queue=theirs" }),
          await ask(service, operation, {}, { query: "?queue=absent" }),
        ];
        const asked = { ...theirs, text: theirs.text.replaceAll("theirs", "absent") };
        expect([operation.id, comparable(asked)]).toEqual([operation.id, comparable(absent)]);
      }
      expect(await everythingStored(service.database)).toEqual(before);
    });

    test("what another workspace has is in no list, whatever the cursor", async ({ service }) => {
      const other = await neighbour(service);
      const { id: theirKey } = await other.ok("POST", "/v1/keys", { name: "theirs" });
      for (const query of ["", `?cursor=${theirKey}`]) expect((await service.api("GET", `/v1/keys${query}`)).text).not.toContain(theirKey);
      const before = [await service.ok("GET", "/v1/queues"), await service.ok("GET", "/v1/dlq")];
      await furnish(other, "mine");
      await furnish(other, "theirs");
      const page = (await other.ok("GET", "/v1/queues?limit=1")).next_cursor;
      expect(page).toEqual(expect.any(String));
      expect([await service.ok("GET", "/v1/queues"), await service.ok("GET", "/v1/dlq")]).toEqual(before);
      expect((await other.ok("GET", "/v1/secrets")).data).toHaveLength(2);
      expect(await service.ok("GET", "/v1/secrets")).toEqual({ data: [], next_cursor: null });
      expect((await other.ok("GET", "/v1/schedules")).data).toHaveLength(2);
      const theirPage = (await other.ok("GET", "/v1/schedules?limit=1")).next_cursor;
      for (const query of ["", "?queue=theirs"])
        expect(await service.ok("GET", `/v1/schedules${query}`)).toEqual({ data: [], next_cursor: null });
      for (const path of [`/v1/queues?cursor=${page}`, `/v1/schedules?cursor=${theirPage}`, `/v1/queues?cursor=${theirPage}`])
        expect((await service.api("GET", path)).body.error).toMatchObject({
          code: "VALIDATION_ERROR",
          details: { issues: [{ path: "cursor" }] },
        });
      const reused = await other.api("GET", `/v1/queues?cursor=${theirPage}`);
      expect(reused.body.error).toMatchObject({ code: "VALIDATION_ERROR" });
      await service.ok("POST", "/v1/queues", { name: "mine" });
      expect(await service.ok("GET", "/v1/queues/mine/jobs")).toEqual({ data: [], next_cursor: null });
      expect((await service.ok("GET", "/v1/queues/mine")).metrics).toMatchObject({ delayed: 0, completed: 0, failed: 0, cancelled: 0 });
    });

    test("what another workspace has is in no audit log, by whatever it is asked for", async ({ service }) => {
      const other = await neighbour(service);
      await other.ok("POST", "/v1/queues", { name: "theirs" });
      await service.ok("POST", "/v1/queues", { name: "mine" });
      const { data } = await other.ok("GET", "/v1/audit-events?resource_type=queue");
      expect(data).toMatchObject([{ resource_id: "theirs" }]);
      for (const query of ["", "&event_type=queue.created", `&actor_id=${data[0].actor_id}`]) {
        const { data: mine } = await service.ok("GET", `/v1/audit-events?resource_type=queue${query}`);
        expect([query, mine.map((event: { resource_id: string }) => event.resource_id)]).toEqual([
          query,
          query.startsWith("&actor") ? [] : ["mine"],
        ]);
      }
    });

    test("what another workspace has is out of reach of what acts on many jobs", async ({ service }) => {
      const other = await neighbour(service);
      await furnish(other, "mine");
      await furnish(service, "mine");
      const before = await other.ok("GET", "/v1/dlq");
      expect(await service.ok("POST", "/v1/queues/mine/retry-all", {})).toEqual({ retried: 1 });
      await service.untilIdle();
      expect(await service.ok("POST", "/v1/dlq/retry", {})).toEqual({ retried: 1 });
      await service.untilIdle();
      expect(await service.ok("POST", "/v1/dlq/purge", {})).toEqual({ purged: 1 });
      expect(await other.ok("GET", "/v1/dlq")).toEqual(before);
      expect(before.data).toHaveLength(1);
    });
  });

  test("workspaces have queues of the same name that know nothing of each other", async ({ service }) => {
    const other = await neighbour(service);
    await other.ok("POST", "/v1/queues", { name: "emails", callback_timeout: 7 });
    await service.ok("POST", "/v1/queues", { name: "emails" });
    await service.ok("PATCH", "/v1/queues/emails", { paused: true, callback_timeout: 9 });
    expect(await other.ok("GET", "/v1/queues/emails")).toMatchObject({ paused: false, callback_timeout: 7 });
    await service.ok("DELETE", "/v1/queues/emails");
    expect((await other.api("GET", "/v1/queues/emails")).status).toBe(200);
  });

  test("what was deleted answers as what never was", async ({ service }) => {
    const { id: key } = await service.ok("POST", "/v1/keys", { name: "gone" });
    await service.ok("DELETE", `/v1/keys/${key}`);
    const [revoked, never] = [await service.api("DELETE", `/v1/keys/${key}`), await service.api("DELETE", `/v1/keys/${ABSENT_KEY}`)];
    expect(comparable({ ...revoked, text: revoked.text.replaceAll(key, ABSENT_KEY) })).toEqual(comparable(never));
    await service.ok("POST", "/v1/secrets", { name: "BEFORE", value: "x" });
    await service.ok("DELETE", "/v1/secrets/BEFORE");
    for (const [method, body] of [
      ["PATCH", { value: "y" }],
      ["DELETE", undefined],
    ] as const) {
      const [gone, absent] = [await service.api(method, "/v1/secrets/BEFORE", body), await service.api(method, "/v1/secrets/ABSENT", body)];
      const asked = { ...gone, text: gone.text.replaceAll("BEFORE", "ABSENT") };
      expect([method, gone.status, comparable(asked)]).toEqual([method, 404, comparable(absent)]);
    }
    const ids = await furnish(service, "before");
    await service.ok("DELETE", `/v1/queues/before/jobs/${ids[0]}`);
    const operations = (await operationsOf(service)).filter((one) => one.path.startsWith("/v1/queues/{name}"));
    const removed = operations.filter((one) => names(one).includes("id"));
    for (const operation of removed) {
      const replies = [
        await ask(service, operation, { name: "before", id: ids[0] as string }),
        await ask(service, operation, { name: "before", id: ABSENT_JOB }),
      ];
      const [gone, absent] = replies as [Reply, Reply];
      const asked = { ...gone, text: gone.text.replaceAll(ids[0] as string, ABSENT_JOB) };
      expect([operation.id, comparable(asked)]).toEqual([operation.id, comparable(absent)]);
    }
    await service.ok("DELETE", "/v1/queues/before");
    for (const operation of operations) {
      const absent = comparable(await ask(service, operation, { name: "absent", id: ABSENT_JOB }));
      for (const id of ids) {
        const gone = await ask(service, operation, { name: "before", id });
        const asked = { ...gone, text: gone.text.replaceAll("before", "absent").replaceAll(id, ABSENT_JOB) };
        expect([operation.id, comparable(asked)]).toEqual([operation.id, absent]);
      }
    }
  });
}
