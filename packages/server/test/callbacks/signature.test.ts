import { createHmac } from "node:crypto";
import { SIGNATURE_TOLERANCE_SECONDS } from "@tidemill/contract";
import { Webhook } from "standardwebhooks";
import { describe, expect, vi } from "vitest";
import { dateAt } from "#kernel";
import { sign, signingKey } from "#outbound";
import { isSigned, type Received } from "../harness/handler.ts";
import { test, until } from "../harness/service.ts";
import { readVectors } from "../harness/vectors.ts";

const ID = "job_01kajv3k4ve6nsd9z5kgtzx0rw";
const SECRET = "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs";

describe("the signature", () => {
  // RFC 4231, section 4: the test cases whose keys are text, as a callback secret is.
  test.each([
    ["1", "\x0b".repeat(20), Buffer.from("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"],
    ["2", "Jefe", Buffer.from("what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"],
    [
      "4",
      String.fromCharCode(...Array.from({ length: 25 }, (_, index) => index + 1)),
      Buffer.alloc(50, 0xcd),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    ],
  ])("the signature has keys that pass test case %s of RFC 4231", (_, secret, data, digest) => {
    expect(createHmac("sha256", signingKey(secret)).update(data).digest("hex")).toBe(digest);
  });

  test.each(readVectors("signatures").sign)("the signature of the vectors: $name", ({ secret, id, timestamp, body, signature }) => {
    expect(sign(signingKey(secret), id, timestamp, Buffer.from(body))).toBe(signature);
    const library = new Webhook(Buffer.from(secret), { format: "raw" });
    expect(library.sign(id, dateAt(timestamp * 1000), body)).toBe(signature);
  });

  test("the signature is of the raw body: any other byte makes it another", () => {
    const key = signingKey(SECRET);
    const of = (body: string, timestamp = 1, id = ID) => sign(key, id, timestamp, Buffer.from(body));
    expect(new Set([of("{}"), of("{ }"), of("{}\n"), of("{}", 2), of("{}", 1, `${ID}x`)]).size).toBe(5);
  });
});

describe("a callback", () => {
  test("a callback carries the signature, the id, the attempt and the timestamp that its queue's secret signs", async ({ service }) => {
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue, payload: { to: "ada" } });
    await service.untilIdle();
    const [callback] = handler.received as [Received];
    expect(callback.headers).toMatchObject({
      "x-service-job-id": job.id,
      "x-service-attempt": "1",
      "x-service-timestamp": String(Math.floor(service.clock.nowMs() / 1000)),
      "x-service-signature": expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
    expect(isSigned(callback, handler.secret)).toBe(true);
    expect(isSigned(callback, handler.secret.slice("cbs_".length))).toBe(false);
    expect(isSigned({ ...callback, raw: `${callback.raw} ` }, handler.secret)).toBe(false);
  });

  test("a callback is verified by a Standard Webhooks library, whose secret is in the raw format", async ({ service, onTestFinished }) => {
    const handler = await service.handler({ answers: [500, 200] });
    const job = await service.enqueue({ queue: handler.queue, payload: { to: "Zoë", text: "世界 🌊", n: 1 } });
    await service.untilIdle();
    expect(handler.received).toHaveLength(2);
    const library = new Webhook(handler.secret, { format: "raw" });
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const { headers, raw, body } of handler.received) {
      const sentMs = Number(headers["webhook-timestamp"]) * 1000;
      vi.setSystemTime(sentMs + SIGNATURE_TOLERANCE_SECONDS * 1000);
      const given = headers as Record<string, string>;
      expect(library.verify(raw, given)).toEqual(body);
      expect(given["webhook-id"]).toBe(job.id);
      expect(() => library.verify(`${raw} `, given)).toThrow("No matching signature");
      expect(() => library.verify(raw, { ...given, "webhook-id": `${job.id}x` })).toThrow("No matching signature");
      expect(() => new Webhook("cbs_another", { format: "raw" }).verify(raw, given)).toThrow("No matching signature");
      vi.setSystemTime(sentMs + (SIGNATURE_TOLERANCE_SECONDS + 1) * 1000);
      expect(() => library.verify(raw, given)).toThrow("too old");
    }
  });

  test("a callback has one id through all attempts, and counts them from 1", async ({ service }) => {
    const handler = await service.handler({ answers: [500, 503, 200] });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilIdle();
    expect(handler.received.map(({ headers }) => headers["x-service-job-id"])).toEqual([job.id, job.id, job.id]);
    expect(handler.attempts).toEqual([1, 2, 3]);
    expect(handler.received.map(({ body }) => body.attempt)).toEqual([1, 2, 3]);
    for (const callback of handler.received) expect(isSigned(callback, handler.secret)).toBe(true);
  });

  test("each attempt is signed when it leaves, with a timestamp of its own", async ({ service }) => {
    const handler = await service.handler({ answers: [500, 200], paused: true });
    await service.enqueue({ queue: handler.queue, backoff: { delay: 1_000_000 } });
    await service.advance(3 * SIGNATURE_TOLERANCE_SECONDS);
    const firstMs = service.clock.nowMs();
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    await until(() => handler.received.length === 1);
    await service.untilIdle();
    const timestamps = handler.received.map(({ headers }) => headers["x-service-timestamp"]);
    expect(timestamps).toEqual([firstMs, service.clock.nowMs()].map((ms) => String(Math.floor(ms / 1000))));
    for (const callback of handler.received) expect(isSigned(callback, handler.secret)).toBe(true);
  });

  test("a callback is signed with the new secret from the next attempt on, once the secret is rotated", async ({ service }) => {
    const handler = await service.handler({ answers: [500, 500, 200] });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "delayed");
    const { callback_secret: second } = await service.ok("PATCH", `/v1/queues/${handler.queue}`, { rotate_callback_secret: true });
    expect(second).not.toBe(handler.secret);
    await service.untilIdle();
    expect(handler.received.map((callback) => isSigned(callback, handler.secret))).toEqual([true, false, false]);
    expect(handler.received.map((callback) => isSigned(callback, second))).toEqual([false, true, true]);
  });

  test("a callback keeps its signature when anything but the secret of its queue changes", async ({ service }) => {
    const handler = await service.handler();
    const patched = await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_timeout: 5, callback_url: `${handler.url}/moved` });
    expect(patched.callback_secret).toBeUndefined();
    await service.enqueue({ queue: handler.queue });
    await service.untilIdle();
    expect(handler.received.map((callback) => [callback.path, isSigned(callback, handler.secret)])).toEqual([["/callback/moved", true]]);
  });

  test("a callback of another queue is signed with that queue's secret", async ({ service }) => {
    const one = await service.handler();
    const other = await service.handler();
    await service.enqueue({ queue: one.queue });
    await service.enqueue({ queue: other.queue });
    await service.untilIdle();
    expect(isSigned(one.received[0] as Received, one.secret)).toBe(true);
    expect(isSigned(other.received[0] as Received, other.secret)).toBe(true);
    expect(isSigned(other.received[0] as Received, one.secret)).toBe(false);
  });
});
