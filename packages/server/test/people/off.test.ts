import { expect } from "vitest";
import { OPERATOR_TOKEN } from "../harness/operator.ts";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { startTestNode, test } from "../harness/service.ts";

test("TIDEMILL_DASHBOARD=off removes sign-in, the API for pages and the set-up link; keys and the operator's token work", async ({
  service,
  database,
  clock,
}) => {
  const { cookie, email } = await newPerson(service, { operator: true });
  await database.query("delete from person where email <> $1", [email]);
  const node = await startTestNode(database, clock, { TIDEMILL_DASHBOARD: "off" });
  try {
    expect(node.setupUrl).toBeNull();
    const browser = new Browser(node.url, cookie);
    for (const [method, path, body] of [
      ["GET", "/dashboard/auth/session"],
      ["POST", "/dashboard/auth/sign-in", { email, password: PASSWORD }],
      ["GET", `/dashboard/api/${service.workspaceId}/v1/queues`],
      ["GET", "/dashboard/api/admin/v1/workspaces"],
      ["GET", "/admin/v1/workspaces"],
      ["GET", "/dashboard/"],
    ] as const) {
      expect([path, (await browser.send(method, path, body)).status]).toEqual([path, 404]);
    }
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    expect((await sendRaw(node.internalUrl, { method: "GET", path: "/admin/v1/workspaces", headers })).status).toBe(200);
    expect(
      (await sendRaw(node.url, { method: "GET", path: "/v1/queues", headers: { authorization: `Bearer ${service.key}` } })).status,
    ).toBe(200);
    expect(
      (await sendRaw(node.url, { method: "GET", path: "/v1/members", headers: { authorization: `Bearer ${service.key}` } })).status,
    ).toBe(404);
  } finally {
    await node.stop();
  }
});
