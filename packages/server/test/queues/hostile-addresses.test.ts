import { hostname } from "node:os";
import { describe, expect } from "vitest";
import { Canary } from "../harness/canary.ts";
import { testWith } from "../harness/nodes.ts";
import { faultsOf } from "../harness/problem.ts";
import type { Service } from "../harness/service.ts";
import { hostileUrls } from "../outbound/address-corpus.ts";

const test = testWith({ TIDEMILL_ENV: "production", TIDEMILL_ALLOW_ADDRESSES: "127.0.0.9, fd12::/16" }).extend(
  "canary",
  async ({}, { onCleanup }) => {
    const canary = await Canary.listen();
    onCleanup(() => canary.close());
    return canary;
  },
);

/** What is wrong with the refusals of the address, at `POST` and at `PATCH`. */
async function faultsWith(service: Service, queue: string, callback_url: string): Promise<unknown[]> {
  const replies = [
    await service.api("POST", "/v1/queues", { name: "hostile", callback_url }),
    await service.api("PATCH", `/v1/queues/${queue}`, { callback_url, paused: true }),
  ];
  return replies.flatMap((reply) => [
    ...faultsOf(reply, "VALIDATION_ERROR"),
    ...(reply.body.error?.details?.issues?.[0]?.path === "callback_url" ? [] : [`no issue of callback_url: ${reply.text}`]),
  ]);
}

describe("in production", () => {
  test("no queue takes an address that callbacks may not reach, in any of over 200 spellings", async ({ service, canary }) => {
    const queue = await service.queue();
    const urls = hostileUrls(canary.port);
    const taken: unknown[] = [];
    for (const url of urls) {
      const faults = await faultsWith(service, queue, url);
      if (faults.length > 0) taken.push([url, faults]);
    }
    expect(taken).toEqual([]);
    expect(urls.length).toBeGreaterThan(200);
    expect(await service.ok("GET", "/v1/queues")).toMatchObject({ data: [{ name: queue, callback_url: null, paused: false }] });
    expect(canary.reached).toEqual([]);
  });

  test("a name of this machine is taken, and its callbacks do not leave", async ({ service, canary }) => {
    const names = ["ip6-localhost", "ip6-loopback", "localhost.localdomain", "localhost4", "localhost6", hostname()];
    for (const name of names) {
      const queue = await service.queue({ callback_url: `http://${name}:${canary.port}/` });
      const job = await service.enqueue({ queue });
      await service.untilState(job, "delayed");
      expect([name, (await service.job(job)).last_error.code]).toEqual([name, expect.stringMatching(/^(BLOCKED_ADDRESS|DNS)$/)]);
    }
    expect(canary.reached).toEqual([]);
  });

  test("a refusal names the host as it was understood, and who can open it", async ({ service }) => {
    const { body } = await service.api("POST", "/v1/queues", { name: "hostile", callback_url: "http://0x7f.1/" });
    expect(body.error.details.issues).toEqual([{ path: "callback_url", message: expect.stringMatching(/127\.0\.0\.1.*operator/) }]);
  });

  test.for([
    "http://127.0.0.9/",
    "http://0x7f000009/",
    "http://[::ffff:127.0.0.9]/",
    "http://[fd12:0::1]/",
    "https://example.com/",
    "http://8.8.8.8/",
  ])("in production %s is taken: opened, or public", async (callback_url, { service }) => {
    expect(await service.ok("POST", "/v1/queues", { name: "fine", callback_url, paused: true })).toMatchObject({ callback_url });
  });
});
