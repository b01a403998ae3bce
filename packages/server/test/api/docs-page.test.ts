import { readdir, readlink } from "node:fs/promises";
import net from "node:net";
import { describe, expect } from "vitest";
import { sendRaw } from "../harness/raw-request.ts";
import { test, until } from "../harness/service.ts";

describe("the page at /docs", () => {
  test.for(["/docs", "/docs/", "/docs/static/swagger-initializer.js", "/docs/static/swagger-ui-bundle.js"])(
    "%s is sent with headers that confine it",
    async (path, { node }) => {
      const { status, headers } = await sendRaw(node.url, { method: "GET", path, headers: { host: "localhost" } });
      expect([status, Object.fromEntries(headers)]).toEqual([
        200,
        expect.objectContaining({
          "content-security-policy": expect.stringMatching(/^default-src 'none'; script-src 'self';.* frame-ancestors 'none'$/),
          "x-content-type-options": "nosniff",
          "x-frame-options": "DENY",
          "referrer-policy": "no-referrer",
          "cross-origin-opener-policy": "same-origin",
          "cross-origin-resource-policy": "same-origin",
        }),
      ]);
    },
  );

  test("the page has no scripts but its own files", async ({ node }) => {
    const page = await (await fetch(`${node.url}/docs/`)).text();
    expect(page.match(/<script[^>]*>/g)).toEqual(Array(3).fill(expect.stringMatching(/^<script src="\.\/static\//)));
    expect(page).not.toMatch(/<script[^>]*>\s*[^\s<]|\son\w+=|<style/);
  });

  test("the page has all of its files, with their types", async ({ node }) => {
    const page = await (await fetch(`${node.url}/docs/`)).text();
    const files = [...page.matchAll(/(?:src|href)="\.\/(static\/[^"]+)"/g)].map(([, file]) => file);
    const replies = await Promise.all(files.map((file) => fetch(`${node.url}/docs/${file}`)));
    const types = replies.map((reply) => [reply.status, reply.headers.get("content-type")?.replace(/;.*/, "")]);
    expect(new Set(types.map(String))).toEqual(
      new Set(["200,text/css", "200,image/png", "200,text/javascript", "200,application/javascript"]),
    );
    for (const reply of replies) await reply.arrayBuffer();
  });

  test("responses that nobody reads hold no files open", async ({ node, onTestFinished }) => {
    const { hostname, port } = new URL(node.url);
    const socket = net.connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    const request = `GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`;
    socket.write(request.repeat(6));
    const started = new Promise((resolve) => socket.once("readable", resolve));
    await started;
    await until(async () => (await fetch(`${node.url}/healthz`)).ok);
    const links = await Promise.all(
      (await readdir("/proc/self/fd")).map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => "")),
    );
    expect(links.filter((link) => link.includes("swagger-ui"))).toEqual([]);
  });

  test("the page does not store keys", async ({ node }) => {
    expect(await (await fetch(`${node.url}/docs/static/swagger-initializer.js`)).text()).toContain('"persistAuthorization":false');
  });
});

describe("a path under /docs that leads out of its files", () => {
  test.for([
    "/docs/static/..%2fpackage.json",
    "/docs/static/..%2f..%2f..%2fpackage.json",
    "/docs/static/%2e%2e/package.json",
    "/docs/static/%2e%2e%2fpackage.json",
    "/docs/static/../package.json",
    "/docs/static/..%5cpackage.json",
    "/docs/static/..\\package.json",
    "/docs/static/....//package.json",
    "/docs/static//etc/passwd",
    "/docs/static/%2fetc%2fpasswd",
    "/docs/static/%252e%252e%252fpackage.json",
    "/docs/static/x%00.js",
    "/docs/static/.hidden",
    "/docs/..%2fpackage.json",
  ])("%s is 404", async (path, { node }) => {
    for (const method of ["GET", "HEAD"]) {
      const { status, body } = await sendRaw(node.url, { method, path, headers: { host: "localhost" } });
      expect([method, status, body?.error.code]).toEqual([method, 404, method === "GET" ? "NOT_FOUND" : undefined]);
    }
  });
});
