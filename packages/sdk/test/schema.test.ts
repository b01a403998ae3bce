import type { StandardSchema } from "@tidemill/sdk";
import * as v from "valibot";
import { describe, expect } from "vitest";
import { z } from "zod";
import { test } from "./harness/client.ts";
import { failureOf } from "./harness/failure.ts";

const schemas: [string, StandardSchema<{ to: string; lines: { price: number }[] }>][] = [
  ["zod", z.object({ to: z.email(), lines: z.array(z.object({ price: z.number() })) })],
  ["valibot", v.object({ to: v.pipe(v.string(), v.email()), lines: v.array(v.object({ price: v.number() })) })],
];

describe.for(schemas)("a payload's schema of %s", ([, schema]) => {
  test("a payload that fits is sent", async ({ service, clients: { tidemill } }) => {
    const queue = tidemill.queue(await service.queue(), { schema });
    const payload = { to: "ada@example.com", lines: [{ price: 12 }] };
    expect(await queue.enqueue(payload)).toMatchObject({ payload });
  });

  test("a payload that does not fit is refused before it is sent, and the error names the place", async ({
    clients: { proxy, tidemill },
  }) => {
    const queue = tidemill.queue("orders", { schema });
    const payload = { to: "ada", lines: [{ price: 12 }, { price: "12" as unknown as number }] };
    const error = await failureOf(queue.enqueue(payload));
    expect(error).toMatchObject({ code: "VALIDATION_ERROR", status: null });
    expect((error.details as { issues: { path: string }[] }).issues.map(({ path }) => path)).toEqual([
      "payload.to",
      "payload.lines[1].price",
    ]);
    expect(error.message).toMatch(/^payload\.to: /);
    expect(proxy.passed).toEqual([]);
  });

  test("a bad payload in a batch is named by its place", async ({ clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue("orders", { schema });
    const good = { to: "ada@example.com", lines: [] };
    const error = await failureOf(queue.enqueueMany([{ payload: good }, { payload: { ...good, to: "ada" } }]));
    expect(error).toMatchObject({ details: { issues: [{ path: "jobs[1].payload.to" }] } });
    expect(proxy.passed).toEqual([]);
  });
});

test("a schema may check asynchronously", async ({ service, clients: { tidemill } }) => {
  const known = z.object({ user: z.string().refine(async (user) => user === "ada", "is unknown") });
  const queue = tidemill.queue(await service.queue(), { schema: known });
  expect(await queue.enqueue({ user: "ada" })).toMatchObject({ payload: { user: "ada" } });
  expect((await failureOf(queue.enqueue({ user: "bob" }))).message).toBe("payload.user: is unknown");
});

test("what is sent is what was given: the handler's schema transforms it", async ({ service, clients: { tidemill } }) => {
  const schema = z.object({ at: z.iso.datetime().transform((text) => text.length), retries: z.number().default(3) });
  const queue = tidemill.queue(await service.queue(), { schema });
  const { payload } = await queue.enqueue({ at: "2026-11-21T12:00:00Z" });
  expect(payload).toEqual({ at: "2026-11-21T12:00:00Z" });
});
