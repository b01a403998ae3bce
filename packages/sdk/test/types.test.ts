import type * as contract from "@tidemill/contract";
import {
  type Callback,
  type EnqueuedJob,
  type Job,
  type List,
  type Page,
  Tidemill,
  type TidemillError,
  verifyCallback,
} from "@tidemill/sdk";
import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

// Types are checked by `npm run check`. No line of these functions runs.
const unread = (_use: (tidemill: Tidemill) => unknown) => {};

describe("the types of payloads", () => {
  test("they are given with the queue", () => {
    unread(async (tidemill) => {
      const emails = tidemill.queue<{ to: string }>("emails");
      expectTypeOf(await emails.enqueue({ to: "ada" })).toEqualTypeOf<EnqueuedJob<{ to: string }>>();
      expectTypeOf((await emails.jobs.get("job_1")).payload).toEqualTypeOf<{ to: string }>();
      for await (const { payload } of emails.jobs.list()) expectTypeOf(payload.to).toBeString();
      // @ts-expect-error: the payload lacks `to`.
      await emails.enqueue({});
      // @ts-expect-error: `to` is a string.
      await emails.enqueueMany([{ payload: { to: 1 } }]);
    });
  });

  test("they come from a schema's input", () => {
    unread(async (tidemill) => {
      const zod = tidemill.queue("a", { schema: z.object({ at: z.string().transform(Number), tries: z.number().default(1) }) });
      expectTypeOf(zod.enqueue).parameter(0).toEqualTypeOf<{ at: string; tries?: number | undefined }>();
      const valibot = tidemill.queue("b", { schema: v.object({ to: v.string() }) });
      expectTypeOf(valibot.enqueue).parameter(0).toEqualTypeOf<{ to: string }>();
      // @ts-expect-error: `at` is a string.
      await zod.enqueue({ at: 5 });
    });
  });

  test("without either they are unknown", () => {
    unread(async (tidemill) => {
      expectTypeOf((await tidemill.queue("any").enqueue([1, "two"])).payload).toBeUnknown();
    });
  });
});

describe("the types of calls", () => {
  test("options are those of the API", () => {
    unread(async (tidemill) => {
      const queue = tidemill.queue("emails");
      await queue.enqueue(1, {
        delay: 5,
        tag: "a",
        priority: 1,
        concurrencyKey: "k",
        attempts: 2,
        backoff: { delay: 10 },
        idempotencyKey: "i",
      });
      // @ts-expect-error: there is no such option.
      await queue.enqueue(1, { colour: "red" });
      await queue.enqueue(1, { delay: "5s", backoff: { delay: "500ms" } });
      await tidemill.workflows.trigger("onboard", { delay: "15m" });
      // @ts-expect-error: a duration has a unit.
      await queue.enqueue(1, { delay: "5" });
      // @ts-expect-error: a payload is given first.
      await queue.enqueue(1, { payload: 2 });
      // @ts-expect-error: there is no such role.
      await tidemill.keys.create({ name: "Deploys", role: "owner" });
      // @ts-expect-error: a schedule needs a time zone.
      await tidemill.schedules.create({ queue: "emails", cron: "@daily" });
    });
  });

  test("records are those of the contract", () => {
    unread(async (tidemill) => {
      expectTypeOf(await tidemill.queues.get("emails")).toEqualTypeOf<contract.QueueWithMetrics>();
      expectTypeOf(await tidemill.status()).toEqualTypeOf<contract.Status>();
      expectTypeOf(await tidemill.usage()).toEqualTypeOf<contract.Usage>();
      expectTypeOf((await tidemill.queue("emails").jobs.get("job_1")).state).toEqualTypeOf<contract.JobState>();
      expectTypeOf(await tidemill.queue("emails").jobs.cancelOrRemove("job_1")).toEqualTypeOf<Job | null>();
    });
  });

  test("a list is a page and its records", () => {
    unread(async (tidemill) => {
      const list = tidemill.secrets.list();
      expectTypeOf(list).toEqualTypeOf<List<contract.Secret, contract.ListSecrets>>();
      expectTypeOf(await list).toEqualTypeOf<Page<contract.Secret>>();
      for await (const secret of list) expectTypeOf(secret).toEqualTypeOf<contract.Secret>();
      // @ts-expect-error: there is no such filter.
      tidemill.secrets.list({ state: "active" });
    });
  });

  test("an error's code is one of the catalogue", () => {
    unread(() => {
      const code = null as unknown as TidemillError["code"];
      expectTypeOf(code).toEqualTypeOf<contract.ErrorCode | "NO_RESPONSE" | "TIMEOUT" | "UNEXPECTED_RESPONSE">();
    });
  });
});

test("a verified callback has the payload's type", () => {
  unread(async () => {
    const callback = await verifyCallback<{ to: string }>(new Request("http://localhost"), "cbs_");
    expectTypeOf(callback).toEqualTypeOf<Callback<{ to: string }>>();
    expectTypeOf(callback.scheduled_for).toEqualTypeOf<string | null>();
    expectTypeOf((await verifyCallback({ headers: {}, body: "" }, ["cbs_"])).payload).toBeUnknown();
    const schema = v.pipe(
      v.object({ to: v.string() }),
      v.transform(({ to }) => to.length),
    );
    expectTypeOf((await verifyCallback({ headers: {}, body: "" }, "cbs_", { schema })).payload).toBeNumber();
    // @ts-expect-error: a parsed body cannot be verified.
    await verifyCallback({ headers: {}, body: { payload: 1 } }, "cbs_");
    // @ts-expect-error: a secret is required.
    await verifyCallback({ headers: {}, body: "" });
  });
});

test("a client needs no options, and knows no others", () => {
  unread(() => {
    new Tidemill();
    // @ts-expect-error: there is no such option.
    new Tidemill({ apiKey: "svc_ws_" });
  });
});
