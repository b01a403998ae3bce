import { expect } from "vitest";
import { sql } from "#kernel";
import { test } from "../harness/engine.ts";
import { isWaiting } from "../harness/locks.ts";
import { until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

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
