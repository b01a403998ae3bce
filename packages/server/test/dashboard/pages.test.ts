import { expect } from "vitest";
import { startTestNode, test } from "../harness/service.ts";

const get = (url: string, headers: Record<string, string> = {}) => fetch(url, { redirect: "manual", headers });

/** The path of the first script that a page loads, relative to the page. */
async function scriptOf(page: string): Promise<string> {
  return /src="([^"]+\.js)"/.exec(await (await get(page)).text())?.[1] ?? "";
}

test("every page is one document, whose files are found from it", async ({ node }) => {
  for (const path of ["", "sign-in", "w/ws_1/jobs", "w/ws_1/queues/a%2Fb", "link/token?x=1/2"]) {
    const page = `${node.url}/dashboard/${path}`;
    const response = await get(page);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const script = new URL(await scriptOf(page), page);
    expect(script.pathname).toMatch(/^\/dashboard\/assets\/index-[\w-]+\.js$/);
    expect((await get(String(script))).status).toBe(200);
  }
});

test("/dashboard leads to the pages under whatever prefix a proxy has", async ({ node }) => {
  const response = await get(`${node.url}/dashboard`);
  expect(response.status).toBe(308);
  expect(response.headers.get("location")).toBe("dashboard/");
});

test("a page may load and do only its own, and each response has a nonce of its own", async ({ node }) => {
  const [one, other] = [await get(`${node.url}/dashboard/`), await get(`${node.url}/dashboard/`)];
  const policy = one.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w+/=]{24}'; img-src 'self' data:; /);
  expect(policy).toContain("connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'");
  expect(policy).not.toContain("unsafe");
  expect(policy).not.toBe(other.headers.get("content-security-policy"));
  const nonce = /'nonce-([^']+)'/.exec(policy)?.[1];
  const document = await one.text();
  expect(document).toContain(`nonce="${nonce}"`);
  expect(document).not.toContain("TIDEMILL_NONCE");
  expect(Object.fromEntries(one.headers)).toMatchObject({
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
  });
});

test("files are kept by browsers for good, and sent compressed", async ({ node }) => {
  const page = `${node.url}/dashboard/`;
  const file = String(new URL(await scriptOf(page), page));
  const plain = await get(file, { "accept-encoding": "identity" });
  const content = Buffer.from(await plain.arrayBuffer());
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(plain.headers.get("vary")).toBe("Accept-Encoding");
  for (const [accepted, encoding] of [
    ["gzip, deflate, br", "br"],
    ["gzip;q=1, br;q=0", "gzip"],
  ] as const) {
    const response = await fetch(file, { headers: { "accept-encoding": accepted } });
    expect(response.headers.get("content-encoding")).toBe(encoding);
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
    const tag = response.headers.get("etag") ?? "";
    const again = await get(file, { "accept-encoding": accepted, "if-none-match": tag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  }
});

test.for([
  "assets/",
  "assets/nothing.js",
  "assets/..%2Findex.html",
  "assets/%2e%2e%2findex.html",
  "assets/..%5C..%5Cpackage.json",
  "assets/__proto__",
  "api/unknown",
  "auth/unknown",
  "a/b/c/d/e/f/g/h/i/j",
])("/dashboard/%s is not found", async (path, { node }) => {
  const response = await get(`${node.url}/dashboard/${path}`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "NOT_FOUND" } });
});

test("the pages do not count against the rate limit of a workspace", async ({ node, service }) => {
  for (const path of ["", "w/x/jobs", "assets/none.js"]) {
    const response = await get(`${node.url}/dashboard/${path}`, { authorization: `Bearer ${service.key}` });
    expect([...response.headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
  }
});

test("TIDEMILL_DASHBOARD=off removes the pages", async ({ database, clock }) => {
  const node = await startTestNode(database, clock, { TIDEMILL_DASHBOARD: "off" });
  try {
    for (const path of ["", "/", "/w/x/jobs", "/assets/x.js"]) expect((await get(`${node.url}/dashboard${path}`)).status).toBe(404);
  } finally {
    await node.stop();
  }
});
