import { describe, expect } from "vitest";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { startTestNode, test } from "../harness/service.ts";

/** An empty header is left out (`Browser`). */
const NO_SITE = { "sec-fetch-site": "" };

describe("requests that another site makes a browser send", () => {
  test("a request that may change something needs the header of pages and an origin that is this host's", async ({ service }) => {
    const person = await newPerson(service);
    const { host, port } = new URL(service.node.url);
    const create = async (headers: Record<string, string>) => {
      const name = `q${Math.random().toString(36).slice(2)}`;
      return (await person.api(service.workspaceId, "POST", "/v1/queues", { name }, headers)).status;
    };
    const cases: [Record<string, string>, number][] = [
      [{}, 201],
      [{ "sec-fetch-site": "same-origin", origin: `http://${host}` }, 201],
      [{ "x-tidemill-dashboard": "" }, 403],
      [{ "x-tidemill-dashboard": "0" }, 403],
      [{ "sec-fetch-site": "cross-site" }, 403],
      [{ "sec-fetch-site": "same-site" }, 403],
      [{ "sec-fetch-site": "none" }, 403],
      // What the browser says of the site counts, not what could be made up beside it.
      [{ "sec-fetch-site": "cross-site", origin: `http://${host}` }, 403],
      // Plain HTTP in a local network: browsers send no Sec-Fetch-Site.
      [{ ...NO_SITE, origin: `http://${host}` }, 201],
      [{ ...NO_SITE, origin: `https://${host}` }, 201],
      [{ ...NO_SITE, host: `10.0.0.7:${port}`, origin: `http://10.0.0.7:${port}` }, 201],
      [{ ...NO_SITE }, 403],
      [{ ...NO_SITE, origin: "null" }, 403],
      [{ ...NO_SITE, origin: "http://evil.example" }, 403],
      [{ ...NO_SITE, origin: `http://${host}.evil.example` }, 403],
      [{ ...NO_SITE, origin: "http://127.0.0.1" }, 403],
      [{ ...NO_SITE, origin: `http://127.0.0.1:${Number(port) + 1}` }, 403],
      [{ ...NO_SITE, origin: `http://localhost:${port}` }, 403],
      [{ ...NO_SITE, origin: `http://${host}/` }, 403],
      [{ ...NO_SITE, origin: `http://${host} http://evil.example` }, 403],
    ];
    for (const [headers, status] of cases) expect([headers, await create(headers)]).toEqual([headers, status]);
  });

  test("the same holds for the operator API and for signing in and out", async ({ service }) => {
    const operator = await newPerson(service, { operator: true });
    const cross = { "sec-fetch-site": "cross-site" };
    expect((await operator.operate("POST", "/workspaces", { name: "New" }, cross)).status).toBe(403);
    expect((await operator.auth("POST", "sign-out", undefined, cross)).status).toBe(403);
    expect((await operator.auth("POST", "sign-in", { email: operator.email, password: PASSWORD }, cross)).status).toBe(403);
    expect((await operator.auth("POST", "links/x", {}, { "x-tidemill-dashboard": "" })).status).toBe(403);
    expect((await operator.auth("GET", "session")).body.person).toMatchObject({ id: operator.id });
  });

  test("what anybody may send is small", async ({ service }) => {
    const browser = new Browser(service.node.url);
    const reply = await browser.auth("POST", "sign-in", { email: "a@example.com", password: "x".repeat(70_000) });
    expect(reply).toMatchObject({ status: 413, body: { error: { details: { limit_bytes: 65_536 } } } });
  });

  test("another site cannot read either", async ({ service }) => {
    const person = await newPerson(service);
    const get = async (headers: Record<string, string>) =>
      (await person.api(service.workspaceId, "GET", "/v1/queues", undefined, headers)).status;
    expect(await get({})).toBe(200);
    expect(await get({ "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await get({ "sec-fetch-site": "none" })).toBe(200);
    expect(await get({ "sec-fetch-site": "same-site" })).toBe(403);
    expect(await get({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect((await person.auth("GET", "session", undefined, { "sec-fetch-site": "cross-site" })).status).toBe(403);
  });

  test("behind a proxy, pages come from the public URL, and the cookie is for its path and for TLS only", async ({
    database,
    clock,
    service,
  }) => {
    const { email } = await newPerson(service);
    const node = await startTestNode(database, clock, { TIDEMILL_PUBLIC_URL: "https://jobs.example.com/a/b/" });
    try {
      const browser = new Browser(node.url);
      const from = (origin: string) => browser.auth("POST", "sign-in", { email, password: PASSWORD }, { ...NO_SITE, origin });
      expect((await from("https://jobs.example.com/a/b")).status).toBe(403);
      const reply = await from("https://jobs.example.com");
      expect(reply.status).toBe(204);
      expect(reply.headers.getSetCookie()[0]).toMatch(
        /^__Secure-tidemill_session=[\w-]{43}; Max-Age=2592000; Path=\/a\/b\/dashboard; HttpOnly; Secure; SameSite=Lax$/,
      );
    } finally {
      await node.stop();
    }
  });
});
