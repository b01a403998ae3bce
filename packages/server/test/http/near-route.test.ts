import { expect, test } from "vitest";
import { nearRoute } from "../../src/http/near-route.ts";

const ROUTES = [
  "/v1/queues",
  "/v1/queues/:name",
  "/v1/queues/:name/jobs",
  "/v1/queues/:name/jobs/:id",
  "/v1/keys",
  "/v1/keys/:id",
  "/docs/*",
];

test.each([
  ["/v1/queue", "/v1/queues"],
  ["/V1/queues", "/v1/queues"],
  ["/v1/queue/emails/job", "/v1/queues/emails/jobs"],
  ["/v1/queues/emails/jbos/job_1", "/v1/queues/emails/jobs/job_1"],
  ["/v1/key/key_1", "/v1/keys/key_1"],
  ["/v1/jobs", null],
  ["/v2/queues/emails", "/v1/queues/emails"],
  ["/v1/queues/", null],
  ["/v1/queues/emails/jobs/job_1/logs", null],
  ["/docs/a", null],
  ["/", null],
  ["*", null],
])("the route that is near %j is %j", (path, near) => {
  expect(nearRoute(path, ROUTES)).toBe(near);
});

test("a path is not near to itself", () => {
  expect(nearRoute("/v1/queues/emails", ROUTES)).toBeNull();
});
