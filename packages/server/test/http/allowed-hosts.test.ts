import { describe, expect } from "vitest";
import { readConfig } from "#kernel";
import { checkHostOf } from "../../src/http/allowed-hosts.ts";
import { testWith } from "../harness/nodes.ts";
import { sendRaw } from "../harness/raw-request.ts";

const test = testWith({ TIDEMILL_ALLOWED_HOSTS: "jobs.internal", TIDEMILL_PUBLIC_URL: "https://jobs.example.com/base" });

const serves = (settings: Partial<Parameters<typeof checkHostOf>[0]>, host: string | undefined): boolean => {
  try {
    checkHostOf({ bound: "127.0.0.1", names: [], publicUrl: null, ...settings })(host);
    return true;
  } catch {
    return false;
  }
};

const LOCAL = ["localhost", "localhost:8080", "LOCALHOST.", "x.localhost:1", "127.0.0.1:8080", "10.1.2.3", "[::1]:8080", "[fd00::1]"];
const FOREIGN = ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost", "xlocalhost"];
const MALFORMED = ["", "a b", "evil.example/localhost", "localhost@evil.example", "evil.example#.localhost", "::1", "localhost:8080:1"];

describe("a listener on a loopback address", () => {
  test.for(["127.0.0.1", "127.1.2.3", "::1", "localhost"])("on %s serves IP literals and localhost, and no other name", (bound) => {
    for (const host of [...LOCAL, undefined]) expect([host, serves({ bound }, host)]).toEqual([host, true]);
    for (const host of [...FOREIGN, ...MALFORMED]) expect([host, serves({ bound }, host)]).toEqual([host, false]);
  });

  test("serves the names that the operator gives", () => {
    const settings = { names: ["jobs.internal"], publicUrl: "https://Jobs.Example.com:444/base" };
    for (const host of [...LOCAL, "jobs.internal:1", "JOBS.internal.", "jobs.example.com"])
      expect([host, serves(settings, host)]).toEqual([host, true]);
    for (const host of [...FOREIGN, "x.jobs.internal", "example.com"]) expect([host, serves(settings, host)]).toEqual([host, false]);
  });

  test("serves every name when the operator says so", () => {
    for (const host of FOREIGN) expect(serves({ names: ["*"] }, host)).toBe(true);
  });
});

test.for(["0.0.0.0", "::", "192.0.2.1", "node.example.com"])(
  "a listener on %s serves every name until the operator gives names",
  (bound) => {
    for (const host of [...LOCAL, ...FOREIGN]) {
      expect(serves({ bound }, host)).toBe(true);
      expect(serves({ bound, publicUrl: "https://jobs.example.com" }, host)).toBe(true);
    }
    for (const host of FOREIGN) expect(serves({ bound, names: ["jobs.internal"] }, host)).toBe(false);
    expect(serves({ bound, names: ["jobs.internal"] }, "jobs.internal")).toBe(true);
  },
);

describe("both listeners of a node", () => {
  const status = async (url: string, path: string, host: string) => {
    const reply = await sendRaw(url, { method: "GET", path, headers: { host } });
    return [reply.status, reply.body?.error?.details.issues];
  };
  const refused = [400, [{ path: "host", message: expect.stringContaining("TIDEMILL_ALLOWED_HOSTS") }]];

  test("both listeners of a node refuse foreign names on every path", async ({ node }) => {
    for (const path of ["/docs", "/doc", "/v1/queues", "/nowhere"]) expect(await status(node.url, path, "evil.example")).toEqual(refused);
    for (const path of ["/metrics", "/admin/v1/workspaces"]) expect(await status(node.internalUrl, path, "evil.example")).toEqual(refused);
  });

  test("both listeners of a node serve names that are allowed", async ({ node }) => {
    for (const host of ["jobs.internal", "jobs.example.com", "localhost"]) {
      expect((await status(node.url, "/doc", host))[0]).toBe(200);
      expect((await status(node.internalUrl, "/metrics", host))[0]).toBe(200);
    }
  });

  test("health checks are served for every name", async ({ node }) => {
    for (const path of ["/healthz", "/readyz"]) expect((await status(node.url, path, "evil.example"))[0]).toBe(200);
  });
});

test("every reply of the API forbids guesses at its type, and caches", async ({ service }) => {
  for (const [method, path] of [
    ["GET", "/v1/queues"],
    ["GET", "/v1/queues/absent"],
    ["GET", "/doc"],
  ] as const) {
    const { headers } = await service.api(method, path);
    expect([headers.get("x-content-type-options"), headers.get("cache-control")]).toEqual(["nosniff", "no-store"]);
  }
});

test("names of hosts are read from a list, and anything else is refused", () => {
  expect(readConfig({ TIDEMILL_ALLOWED_HOSTS: " Jobs.internal , b ,," }).allowedHosts).toEqual(["jobs.internal", "b"]);
  for (const text of ["http://a", "a:80", "*.example.com", "a b", "[::1]"])
    expect(() => readConfig({ TIDEMILL_ALLOWED_HOSTS: text })).toThrow("must be host names without ports");
  for (const text of ["jobs.example.com", "ftp://x", "https://"])
    expect(() => readConfig({ TIDEMILL_PUBLIC_URL: text })).toThrow("must be an http:// or https:// URL");
});
