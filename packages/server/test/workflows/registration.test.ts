import { expect, onTestFinished } from "vitest";
import { sql } from "#kernel";
import { test } from "../harness/engine.ts";
import { isWaiting } from "../harness/locks.ts";
import { until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

test("a registration returns the secret that it generated, also if runs that wait for other code cannot be released", async ({
  service,
  database,
}) => {
  const { id, trigger, take, end, get } = await putWorkflow(service);
  const runId = await trigger();
  await end(await take(), { outcome: "unfit", step: "load", error: "The code does not reach it." });
  await database.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception using errcode = '22000'; end $$;
    create trigger refuse before update on job for each row execute function refuse()`);
  onTestFinished(() => database.query("drop function if exists refuse cascade").then(() => {}));
  const put = () => service.api("PUT", `/v1/workflows/${id}`, { endpoint_url: "http://127.0.0.1:9/" });
  expect(await put()).toMatchObject({ status: 200, body: { endpoint_secret: expect.stringMatching(/^cbs_/) } });
  expect((await put()).status).toBe(500);
  await database.query("drop function refuse cascade");
  expect(await get(runId)).toMatchObject({ waitingFor: [{ type: "code" }] });
  expect((await put()).status).toBe(200);
  expect((await get(runId)).waitingFor).not.toMatchObject([{ type: "code" }]);
});

test("a workflow that is deleted while it is registered again is created anew", async ({ service, database, engine }) => {
  const { id } = await putWorkflow(service);
  const putting = await engine.transaction(async (tx) => {
    await tx.query(sql`select from lane where name = ${id} for update`);
    const put = service.api("PUT", `/v1/workflows/${id}`, { attempts: 7 });
    await until(() => isWaiting(database, "lane"), "the registration to wait for the lock");
    await tx.query(sql`update lane set deleted_at = moment() where name = ${id}`);
    return { put };
  });
  expect(await putting.put).toMatchObject({ status: 201, body: { id, attempts: 7 } });
  expect(await service.ok("GET", `/v1/workflows/${id}`)).toMatchObject({ attempts: 7 });
});

test("a registration that changes settings says which, also in the audit log, and one that changes nothing is not in it", async ({
  service,
}) => {
  const endpoint = { endpoint_url: "http://127.0.0.1:9/", endpoint_timeout: 60, endpoint_secret: `cbs_${"s".repeat(43)}` };
  const greet = { events: ["user.created"], cron: "0 9 * * *", timezone: "UTC", hooks: ["onFailure"], version: "1" };
  const put = (settings: object) => service.ok("PUT", "/v1/workflows/greet", settings);
  const expected = [
    [{ ...greet, ...endpoint }, []],
    [{ ...greet, ...endpoint }, []],
    [{ ...greet, ...endpoint, endpoint_secret: `cbs_${"t".repeat(43)}` }, ["endpoint_secret"]],
    [greet, ["endpoint_timeout", "endpoint_url"]],
    [greet, []],
    [{ attempts: 5, backoff: { type: "exponential", delay: 5_000 }, concurrency: 2 }, CHANGED_BY_ANOTHER],
  ] as const;
  for (const [settings, changed] of expected) expect((await put(settings)).changed.sort()).toEqual(changed);
  const { data } = await service.ok("GET", "/v1/changes");
  expect(data.map(({ type, settings }: { type: string; settings: string[] }) => [type, settings.sort()]).reverse()).toEqual([
    ["workflow.created", []],
    ["workflow.updated", ["endpoint_secret"]],
    ["workflow.updated", ["endpoint_timeout", "endpoint_url"]],
    ["workflow.updated", CHANGED_BY_ANOTHER],
  ]);
});

const CHANGED_BY_ANOTHER = ["attempts", "backoff", "concurrency", "cron", "events", "hooks", "timezone", "version"];
