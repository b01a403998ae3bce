import { expect } from "vitest";
import { sweepDeletedLanesAcrossWorkspaces } from "#retention";
import { test } from "../harness/engine.ts";

test("a deleted queue does not come back to life by another of its name", async ({ service, engine }) => {
  await service.ok("POST", "/v1/queues", { name: "emails" });
  const old = await service.enqueue({ queue: "emails", payload: "old" });
  await service.ok("DELETE", "/v1/queues/emails");
  await service.ok("POST", "/v1/queues", { name: "emails" });
  const job = await service.enqueue({ queue: "emails", payload: "new" });
  expect((await service.api("GET", `/v1/queues/emails/jobs/${old.id}`)).status).toBe(404);
  await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
  expect((await service.ok("GET", "/v1/queues/emails/jobs")).data).toMatchObject([{ id: job.id, payload: "new" }]);
});
