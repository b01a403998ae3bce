import { describe, expect } from "vitest";
import { TestNameServer } from "../harness/name-server.ts";
import { closedPort } from "../harness/raw-server.ts";
import { test as base, startTestNode, until } from "../harness/service.ts";

const test = base
  .extend<"server", TestNameServer>("server", { scope: "file" }, async ({}, { onCleanup }) => {
    const server = await TestNameServer.listen();
    onCleanup(() => server.close());
    return server;
  })
  .extend("node", { scope: "file" }, async ({ database, clock, server }, { onCleanup }) => {
    const node = await startTestNode(database, clock, { TIDEMILL_DNS_SERVERS: server.address });
    onCleanup(() => node.stop());
    return node;
  });

describe("a handler with a name", () => {
  test("a handler with a name is called at the address that the name server says", async ({ server, service }) => {
    const handler = await service.handler();
    server.names.set("hooks.example", { a: ["127.0.0.1"] });
    const queue = await service.queue({ callback_url: handler.url.replace("127.0.0.1", "hooks.example") });
    const job = await service.enqueue({ queue });
    await service.untilState(job, "completed");
  });

  test.for(["absent", "fails"] as const)(
    "a name for which the name server says %s is a failed attempt: DNS",
    async (reply, { server, service }) => {
      server.names.set("gone.example", reply);
      const queue = await service.queue({ callback_url: "http://gone.example/" });
      const job = await service.enqueue({ queue });
      await service.untilState(job, "delayed");
      expect(await service.job(job)).toMatchObject({ attempt: 1, last_error: { code: "DNS" } });
    },
  );

  test("a name with a private address looks like one that does not exist", async ({ server, service }) => {
    server.names.set("inner.example", { a: ["192.0.2.1"], aaaa: ["fd00::1"] });
    const queue = await service.queue({ callback_url: "http://inner.example/" });
    const job = await service.enqueue({ queue });
    await service.untilState(job, "delayed");
    expect(await service.job(job)).toMatchObject({ last_error: { code: "DNS" } });
  });
});

const unreachable = base.extend("node", { scope: "file" }, async ({ database, clock }, { onCleanup }) => {
  const node = await startTestNode(database, clock, { TIDEMILL_DNS_SERVERS: `127.0.0.1:${await closedPort()}` });
  onCleanup(() => node.stop());
  return node;
});

unreachable("an attempt is not charged while the node's own name server cannot be reached", async ({ service }) => {
  const queue = await service.queue({ callback_url: "http://hooks.example/" });
  const job = await service.enqueue({ queue, attempts: 1 });
  await service.untilState(job, "delayed");
  expect(await service.job(job)).toMatchObject({ last_error: null });
  await service.advance(2);
  await until(async () => (await service.job(job)).state === "delayed", "the job to be postponed again");
});
