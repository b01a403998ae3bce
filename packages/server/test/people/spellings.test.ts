import { describe, expect } from "vitest";
import type { Reply } from "../harness/ask.ts";
import { OPERATOR_TOKEN } from "../harness/operator.ts";
import { newPerson } from "../harness/people.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { test } from "../harness/service.ts";

/** Spellings that some server, proxy or router takes for `/dashboard/api/…`. */
const spellingsOf = (path: string, origin: string): string[] => [
  path,
  `/%64ashboard${path.slice("/dashboard".length)}`,
  `/dashboar%64${path.slice("/dashboard".length)}`,
  path.replace("/api/", "/%61pi/"),
  path.replace("/api/", "/api%2f"),
  path.replace("/api/", "/api//"),
  `/${path}`,
  path.replace("/dashboard", "/Dashboard"),
  path.replace("/dashboard", "/DASHBOARD"),
  path.replace("/api/", "/./api/"),
  path.replace("/api/", "/x/../api/"),
  path.replace("/api/", "/x/%2e%2e/api/"),
  path.replace("/api/", "/api/../api/"),
  path.replace("/dashboard/", "/dashboard;x=1/"),
  path.replace("/dashboard/", "/dashboard%20/"),
  path.replace("/v1/", "/%76%31/"),
  `${origin}${path}`,
  path.slice("/dashboard/api".length),
  `/v1/..${path}`,
];

/** The status of a reply. That of a page, which has nothing of anybody, counts as none. */
const statusOf = ({ status, headers }: Reply): number => (/^text\/html/.test(headers.get("content-type") ?? "") ? 404 : status);

describe("requests of pages", () => {
  test("no spelling of their paths takes a key or the operator's token", async ({ service }) => {
    const { url } = service.node;
    const operator = `/dashboard/api/admin/v1/workspaces`;
    const tenant = `/dashboard/api/${service.workspaceId}/v1/queues`;
    const found: [string, number][] = [];
    for (const [path, token] of [
      [operator, OPERATOR_TOKEN],
      [tenant, service.key],
      [operator, service.key],
      [tenant, OPERATOR_TOKEN],
    ] as const) {
      for (const spelling of spellingsOf(path, url)) {
        const reply = await sendRaw(url, { method: "GET", path: spelling, headers: { authorization: `Bearer ${token}` } });
        found.push([spelling, statusOf(reply)]);
      }
    }
    expect(found).toHaveLength(76);
    expect(found.filter(([, status]) => status !== 401 && status !== 404 && status !== 400)).toEqual([]);
  });

  test("no other spelling of their paths takes a cookie", async ({ service }) => {
    const person = await newPerson(service, { operator: true });
    const { url } = service.node;
    for (const path of ["/dashboard/api/admin/v1/workspaces", `/dashboard/api/${service.workspaceId}/v1/queues`]) {
      const statuses = [];
      for (const spelling of spellingsOf(path, url)) {
        statuses.push(statusOf(await sendRaw(url, { method: "GET", path: spelling, headers: { cookie: person.cookie } })));
      }
      expect(statuses[0]).toBe(200);
      for (const status of statuses.slice(1)) expect([400, 401, 404]).toContain(status);
    }
  });

  test("/v1 does not look at cookies, and the operator API is not on the public listener", async ({ service }) => {
    const person = await newPerson(service, { operator: true });
    const { url } = service.node;
    const get = async (path: string, headers: Record<string, string>) => (await sendRaw(url, { method: "GET", path, headers })).status;
    expect(await get("/v1/queues", { cookie: person.cookie })).toBe(401);
    for (const path of ["/admin/v1/workspaces", "/%61dmin/v1/workspaces", `/admin/v1/workspaces/${service.workspaceId}`]) {
      for (const headers of [{ cookie: person.cookie }, { authorization: `Bearer ${OPERATOR_TOKEN}` }, {}]) {
        expect(await get(path, headers as Record<string, string>)).toBe(404);
      }
    }
    expect((await sendRaw(url, { method: "PUT", path: "/admin/v1/workspaces" })).status).toBe(404);
    // The token beside the cookie changes nothing.
    const both = { cookie: person.cookie, authorization: `Bearer ${service.key}` };
    expect(await get("/dashboard/api/admin/v1/workspaces", both)).toBe(200);
    expect(await get("/dashboard/api/admin/v1/workspaces", { authorization: both.authorization })).toBe(401);
  });

  test("pages reach no route but those of the API", async ({ service }) => {
    const person = await newPerson(service, { operator: true });
    const { url } = service.node;
    for (const path of [
      `/dashboard/api/${service.workspaceId}/doc`,
      `/dashboard/api/${service.workspaceId}/v1/../doc`,
      `/dashboard/api/${service.workspaceId}/v1/../admin/v1/workspaces`,
      `/dashboard/api/${service.workspaceId}/admin/v1/workspaces`,
      `/dashboard/api/admin/v1/../../v1/queues`,
      "/dashboard/api/v1/queues",
      "/dashboard/api/admin/metrics",
      "/dashboard/api",
      "/dashboard/api/",
      "/dashboard/auth/nothing",
    ]) {
      const { status, headers } = await sendRaw(url, { method: "GET", path, headers: { cookie: person.cookie } });
      expect([path, status]).toEqual([path, 404]);
      expect(headers.get("content-type")).toMatch("application/json");
    }
  });
});
