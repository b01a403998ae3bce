import { Readable } from "node:stream";
import { cron, event, type Remembered, type Step, Tidemill, Worker, type WorkflowContext, workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

// Types are checked by `npm run check`. No line of these functions runs.
const unread = (_use: (step: Step) => unknown) => {};

test("input and result of a workflow come from its function", () => {
  unread(async () => {
    const onboard = workflow({ id: "user.onboard" }, async ({ input }: WorkflowContext<{ userId: string }>) => ({
      id: input.userId,
      at: new Date(),
    }));
    const run = await testWorkflow(onboard, { input: { userId: "u1" } });
    expectTypeOf(run.result).toEqualTypeOf<{ id: string; at: string } | null>();
    if (run.status === "completed") expectTypeOf(run.result).toEqualTypeOf<{ id: string; at: string }>();
    // @ts-expect-error: `userId` is a string.
    await testWorkflow(onboard, { input: { userId: 1 } });
    // @ts-expect-error: the workflow needs an input.
    await testWorkflow(onboard, {});
  });
});

test("the input comes from a schema", () => {
  unread(async () => {
    const paid = workflow({ id: "paid", input: z.object({ at: z.string().transform(Number) }) }, ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ at: number }>();
      return input.at;
    });
    expectTypeOf((await testWorkflow(paid, { input: { at: "1" } })).result).toEqualTypeOf<number | null>();
    // @ts-expect-error: `at` is a text before it is parsed.
    await testWorkflow(paid, { input: { at: 1 } });
  });
});

test("without either the input is unknown, and may be left out", () => {
  unread(async () => {
    const plain = workflow({ id: "plain" }, ({ input }) => {
      expectTypeOf(input).toBeUnknown();
    });
    await testWorkflow(plain, {});
  });
});

test("the input comes from the event that starts it, or from each of several", () => {
  unread(async () => {
    const created = event<{ userId: string }>("user.created");
    const one = workflow({ id: "one", on: created }, ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ userId: string }>();
    });
    // @ts-expect-error: `userId` is a string.
    await testWorkflow(one, { input: { userId: 1 } });
    const nightly = workflow({ id: "nightly", on: cron("0 2 * * *", { timezone: "UTC" }) }, ({ input }) => {
      expectTypeOf(input).toBeNull();
      return 1;
    });
    expectTypeOf((await testWorkflow(nightly, {})).result).toEqualTypeOf<number | null>();
    workflow({ id: "parent" }, async ({ step }) => {
      expectTypeOf((await step.invoke("report", { workflow: nightly, timeout: "1h" })).result).toEqualTypeOf<number>();
      // @ts-expect-error: it takes null.
      await step.invoke("report", { workflow: nightly, input: 1, timeout: "1h" });
    });
    workflow({ id: "both", on: [created, cron("0 2 * * *", { timezone: "UTC" })] }, ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ userId: string } | null>();
    });
    // @ts-expect-error: a schedule has a time zone.
    cron("0 2 * * *", {});
    workflow({ id: "several", on: [created, event<{ orderId: number }>("order.paid")] }, ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ userId: string } | { orderId: number }>();
    });
    const tidemill = new Tidemill();
    await tidemill.events.send(created, { userId: "u1" });
    // @ts-expect-error: `userId` is a string.
    await tidemill.events.send(created, { userId: 1 });
    await tidemill.events.send("user.created", { userId: 1 });
  });
  unread(async (step) => {
    const created = event<{ userId: string }>("user.created");
    await step.sendEvent("tell", { name: created, data: { userId: "u1" } });
    // @ts-expect-error: `userId` is a string.
    await step.sendEvent("tell", { name: created, data: { userId: 1 } });
  });
});

test("a step returns what comes back from JSON", () => {
  unread(async (step) => {
    expectTypeOf(await step.run("a", () => 1)).toEqualTypeOf<number>();
    expectTypeOf(await step.run("a", async () => ({ at: new Date(), tags: ["x"], n: 1 as const, f: () => 1 }))).toEqualTypeOf<{
      at: string;
      tags: string[];
      n: 1;
    }>();
    expectTypeOf(await step.run("a", () => {})).toEqualTypeOf<null>();
    expectTypeOf(await step.run("a", () => undefined as { id?: string } | undefined)).toEqualTypeOf<{ id?: string } | null>();
    expectTypeOf(await step.run("a", () => null as unknown)).toBeUnknown();
    expectTypeOf(await step.run("a", () => [1, "b"] as [number, string])).toEqualTypeOf<[number, string]>();
  });
});

// As Supabase generates it.
type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[];

interface Tree {
  readonly at: Date;
  readonly pair: [Date, 1];
  readonly rest: readonly [Date, ...number[]];
  readonly children: readonly Tree[];
  readonly rows?: Tree[][];
}

test("a step may return a value of a type that contains itself", () => {
  unread(async (step) => {
    expectTypeOf(await step.run("a", async () => null as Json)).toEqualTypeOf<Json>();
    const { children, rows } = await step.run("a", () => ({}) as Tree);
    expectTypeOf(children[0]?.rows?.[0]?.[0]?.at).toEqualTypeOf<string | undefined>();
    expectTypeOf(children[0]?.pair).toEqualTypeOf<[string, 1] | undefined>();
    expectTypeOf(children[0]?.rest).toEqualTypeOf<readonly [string, ...number[]] | undefined>();
    rows?.push([]);
    // @ts-expect-error: that list is readonly.
    void children.push;
    expectTypeOf(await step.run("a", () => [] as (Date | undefined)[])).toEqualTypeOf<(string | null)[]>();
  });
});

test("a generic function around a step returns what comes back from JSON", () => {
  const timed = async <T>(step: Step, work: () => Promise<T>) => ({ value: await step.run("a", work), ms: 1 });
  const named = async <T>(step: Step, work: () => Promise<T>) => {
    const { value } = (await step.run("a", async () => ({ value: await work(), ms: 1 }))) as { value: Remembered<T> };
    return value;
  };
  unread(async (step) => {
    expectTypeOf(await timed(step, async () => new Date())).toEqualTypeOf<{ value: string; ms: number }>();
    expectTypeOf(await named(step, async () => [new Date()])).toEqualTypeOf<string[]>();
  });
});

test("what JSON does not keep cannot be used", () => {
  unread(async (step) => {
    const response = await step.run("a", () => fetch("https://example.com"));
    // @ts-expect-error: it is no Response.
    void response.ok;
    // @ts-expect-error: nor can it be passed on as one.
    void ((await step.run("a", () => fetch("https://example.com"))) satisfies Response);
    const { error, all, code, pattern, later, names, byId, ids, bytes, hash, headers, file, streams, signal, buffer, empty } =
      await step.run("a", () => ({
        error: new TypeError("no"),
        all: new AggregateError([]),
        code: Object.assign(new Error("no"), { code: 7, at: new Date() }),
        pattern: /a/,
        later: Promise.resolve(1),
        names: new Map<string, number>().keys(),
        byId: new Map<string, number>(),
        ids: new Set<string>() as ReadonlySet<string>,
        bytes: new Uint8Array(1),
        hash: new ArrayBuffer(1),
        headers: new Headers(),
        file: new Blob([]),
        streams: [new ReadableStream(), new WritableStream(), new TransformStream(), Readable.from([])] as const,
        signal: new AbortController().signal,
        buffer: Buffer.from("a"),
        empty: {},
      }));
    expectTypeOf(error).toEqualTypeOf<{ name: string; message: string }>();
    expectTypeOf(code).toEqualTypeOf<{ name: string; message: string; code: number; at: string }>();
    // @ts-expect-error: it is no RegExp.
    void pattern.source;
    // @ts-expect-error: it is no Promise.
    void later.then;
    // @ts-expect-error: it is no iterator.
    void names.next;
    // @ts-expect-error: it is no Map.
    void byId.size;
    // @ts-expect-error: it is no Set.
    void ids.size;
    // @ts-expect-error: it is no array of bytes.
    void bytes.length;
    // @ts-expect-error: it has no bytes.
    void hash.byteLength;
    // @ts-expect-error: it is no Headers.
    void headers.get;
    // @ts-expect-error: it is no Blob.
    void file.size;
    // @ts-expect-error: it is no stream.
    void streams[0].locked;
    // @ts-expect-error: it is no stream.
    void streams[1].locked;
    // @ts-expect-error: it is no stream.
    void streams[2].readable;
    // @ts-expect-error: it is no stream.
    void streams[3].readable;
    // @ts-expect-error: it is no AbortSignal.
    void signal.aborted;
    // biome-ignore lint/suspicious/noExplicitAny: that of an AggregateError.
    expectTypeOf(all).toEqualTypeOf<{ name: string; message: string; errors: any[] }>();
    expectTypeOf(buffer).toEqualTypeOf<{ type: "Buffer"; data: number[] }>();
    // biome-ignore lint/complexity/noBannedTypes: that of the literal.
    expectTypeOf(empty).toEqualTypeOf<{}>();
    expectTypeOf(await step.run("a", () => ({ name: "Error", message: "no" }))).toEqualTypeOf<{ name: string; message: string }>();
    expectTypeOf(await step.run("a", () => new URL("https://example.com"))).toEqualTypeOf<string>();
    const { open, failure, cursor } = await step.run("a", () => ({
      open: new Error("no") as Error & { code: number; [name: string]: unknown },
      failure: { name: "Error", message: "no", stack: "at a" },
      cursor: { id: 1, next: () => ({ done: false as const, value: 2 }) },
    }));
    expectTypeOf(open.code).toEqualTypeOf<number>();
    expectTypeOf(open.message).toEqualTypeOf<string>();
    expectTypeOf(open.other).toBeUnknown();
    expectTypeOf(failure).toEqualTypeOf<{ name: string; message: string; stack: string }>();
    expectTypeOf(cursor).toEqualTypeOf<{ id: number }>();
  });
});

test("a race says who won, with the type of the winner's result", () => {
  unread(async (step) => {
    const won = await step.race({ work: step.run("work", () => 1), timeout: step.sleep("timeout", "1h") });
    if (won.winner === "work") expectTypeOf(won.value).toEqualTypeOf<number>();
    else expectTypeOf(won.winner).toEqualTypeOf<"timeout">();
  });
});

test("durations, options and workers are checked", () => {
  unread((step) => {
    // @ts-expect-error: there is no such unit.
    void step.sleep("a", "1 fortnight");
    // @ts-expect-error: there is no such option.
    void step.run("a", () => {}, { retries: 3 });
    // @ts-expect-error: a workflow is made by `workflow`.
    new Worker({ workflows: [async () => {}] });
    // @ts-expect-error: a workflow needs an id.
    workflow({}, () => {});
  });
});

test("an undo gets what the step returned, as it comes back from JSON", () => {
  unread((step) =>
    step.run("book", async () => ({ id: 1, at: new Date() }), {
      undo: (output, { idempotencyKey }) => {
        expectTypeOf(output).toEqualTypeOf<{ id: number; at: string }>();
        expectTypeOf(idempotencyKey).toBeString();
      },
    }),
  );
});
