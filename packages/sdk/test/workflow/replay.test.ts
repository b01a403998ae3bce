import type { ReportedStep } from "@tidemill/contract";
import { RunAbortedError, type WorkflowContext } from "@tidemill/sdk";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nextTurn } from "../../src/workflow/event-loop.ts";
import type { RunHost } from "../../src/workflow/host.ts";
import { MemoryRun } from "./memory-journal.ts";

/** A program of steps. A step takes `turns` turns of the event loop, or fails after them. */
type Program =
  | { readonly kind: "run"; readonly turns: number; readonly fails: boolean }
  | { readonly kind: "sleep" | "value" }
  /** Something else than a step, which takes no turn of the event loop. */
  | { readonly kind: "pause"; readonly ticks: number }
  | { readonly kind: "repeat"; readonly inner: Program }
  /** If the first one fails, the other one is carried out. */
  | { readonly kind: "caught"; readonly inner: Program; readonly otherwise: Program }
  /** Steps themselves in a race, so that those that lose are cancelled. */
  | { readonly kind: "contest"; readonly turns: readonly number[]; readonly ms: number; readonly waits: boolean }
  | { readonly kind: "row" | "all" | "settled" | "first" | "race"; readonly parts: readonly Program[] };

const { program } = fc.letrec<{ program: Program; leaf: Program; parts: Program[] }>((tie) => ({
  leaf: fc.oneof(
    fc.record({ kind: fc.constant("run" as const), turns: fc.nat({ max: 4 }), fails: fc.constantFrom(false, false, false, true) }),
    fc.record({ kind: fc.constantFrom("sleep" as const, "value" as const) }),
    fc.record({ kind: fc.constant("pause" as const), ticks: fc.nat({ max: 3 }) }),
  ),
  parts: fc.array(tie("program"), { minLength: 1, maxLength: 4 }),
  program: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie("leaf"),
    fc.record({ kind: fc.constant("repeat" as const), inner: tie("program") }),
    fc.record({ kind: fc.constant("caught" as const), inner: tie("program"), otherwise: tie("program") }),
    fc.record({
      kind: fc.constant("contest" as const),
      turns: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 3 }),
      ms: fc.constant(1),
      waits: fc.boolean(),
    }),
    fc.record({ kind: fc.constantFrom("row", "all", "settled", "first", "race"), parts: tie("parts") }),
  ) as fc.Arbitrary<Program>,
}));

interface Observer {
  /** Called with what the program sees, in that order. */
  readonly see: (entry: string) => void;
  /** Called when a step's function begins. */
  readonly onStart: (key: string) => void;
  /** Of each step. Without them, its failure does not count if it ends the attempt of the run. */
  readonly attempts?: number;
}

/** Carries a program out, and says what it sees. */
async function carryOut(program: Program, path: string, context: WorkflowContext<never>, observer: Observer): Promise<unknown> {
  const { step, run } = context;
  const part = (inner: Program, index: number | string) => carryOut(inner, `${path}.${index}`, context, observer);
  const see = (value: unknown) => {
    observer.see(`${path}: ${JSON.stringify(value)}`);
    return value;
  };
  switch (program.kind) {
    case "run":
      return see(await step.run(path, async ({ idempotencyKey }) => work(program, idempotencyKey, observer), attemptsOf(observer)));
    case "sleep":
      return see(await step.sleep(path, 1));
    case "value":
      return see([run.uuid(), run.patched(path)]);
    case "pause":
      for (let n = 0; n < program.ticks; n += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
      return program.ticks;
    case "repeat":
      return [await part(program.inner, "n"), await part(program.inner, "n")];
    case "caught":
      return part(program.inner, "c").catch((error) => {
        see((error as Error).message);
        return part(program.otherwise, "o");
      });
    case "row": {
      const got = [];
      for (const [index, inner] of program.parts.entries()) got.push(await part(inner, index));
      return got;
    }
    case "all":
      return see(await Promise.all(program.parts.map(part)));
    case "settled":
      return see((await Promise.allSettled(program.parts.map(part))).map(({ status }) => status));
    case "first":
      return see(await Promise.race(program.parts.map(part)));
    case "contest": {
      const steps = program.turns.map((turns, n) =>
        step.run(`${path}.${n}`, ({ idempotencyKey }) => work({ turns, fails: false }, idempotencyKey, observer)),
      );
      const signal = program.waits && { signal: step.waitForSignal(`${path}.signal`, { signal: path, timeout: 1 }) };
      const won = see(
        await step.race({ sleep: step.sleep(`${path}.sleep`, program.ms), ...signal, ...Object.fromEntries(steps.entries()) }),
      );
      return [won, see((await Promise.allSettled(steps)).map(({ status }) => status))];
    }
    case "race":
      return see(await step.race(Object.fromEntries(program.parts.map((inner, index) => [index, part(inner, index)]))));
  }
}

const attemptsOf = ({ attempts }: Observer) => (attempts === undefined ? {} : { attempts });

async function work({ turns, fails }: { turns: number; fails: boolean }, key: string, { onStart }: Observer): Promise<string> {
  onStart(decodeURIComponent(key.slice("run_1:".length)));
  for (let n = 0; n < turns; n += 1) await nextTurn();
  if (fails) throw new Error(`${key} failed`);
  return key;
}

/** The waits among these steps, as if the outcomes of all were there. */
const waitsOf = (steps: readonly ReportedStep[]): string[] =>
  steps.flatMap(({ key, type, status }) => (type === "wait" && status === "waiting" ? [key] : []));

/** Executes a program until it has ended, with crashes before some of the acknowledgements. Returns what each execution saw. */
async function live(
  program: Program,
  crashes: readonly boolean[],
  started: string[],
  replayEachStep = false,
): Promise<{ run: MemoryRun; logs: string[][]; end: unknown }> {
  const logs: string[][] = [];
  let controller = new AbortController();
  let calls = 0;
  const run = new MemoryRun((context: WorkflowContext<never>) => {
    const log: string[] = [];
    logs.push(log);
    const { signal } = controller;
    const onStart = (key: string) => {
      expect(run.keys, "a step in the journal is executed again").not.toContain(key);
      started.push(key);
    };
    // What lost a race, or was left behind by an execution that was given up, goes on and sees what no longer counts.
    let isOver = false;
    const see = (entry: string) => void (isOver || signal.aborted || log.push(entry));
    return carryOut(program, "p", context, { see, onStart, attempts: 1 }).finally(() => {
      isOver = true;
    });
  });
  run.host = { uuid: (key) => key };
  for (;;) {
    controller = new AbortController();
    const store: RunHost["store"] = async (steps) => {
      run.append(steps);
      if (!crashes[calls++ % crashes.length]) return calls % 2 === 0 ? waitsOf(steps) : [];
      controller.abort(new RunAbortedError("lease_lost"));
      await nextTurn();
      return [];
    };
    const { signal } = controller;
    const end = await run.execute({ signal, store, misfitAfterMs: 1_000, replayEachStep });
    if (end.outcome !== "suspended" && end.outcome !== "released") return { run, logs, end };
    if (end.outcome === "suspended") run.wake();
  }
}

test("any program sees the same in a replay, wherever its executions ended, and no stored step is executed again", async () => {
  // A crash at every acknowledgement would still come to an end: each one follows a step that is stored.
  const crashes = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
  await fc.assert(
    fc.asyncProperty(program, crashes, async (program, crashes) => {
      const started: string[] = [];
      const { run, logs, end } = await live(program, crashes, started);
      expect(end, "the end").not.toMatchObject({ outcome: "unfit" });
      const final = logs.at(-1) ?? [];
      // When a name that is used twice ends an execution, the program may still go on and see more, which no longer counts.
      const endsInMiddle = (end as { error_name?: string }).error_name === "DuplicateStepError";
      const same = (log: readonly string[]) => (endsInMiddle ? log.slice(0, final.length) : log);
      for (const log of logs) expect(final.slice(0, log.length)).toEqual(same(log));
      const [before, stored] = [started.length, [...run.keys]];
      const replayed = await run.execute({ misfitAfterMs: 1_000 });
      const again = logs.at(-1) ?? [];
      expect(same(again)).toEqual(endsInMiddle ? final.slice(0, again.length) : final);
      expect(strip(replayed)).toEqual(strip(end));
      expect(started.slice(before).filter((key) => stored.includes(key))).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

const strip = (outcome: unknown) => ({ ...(outcome as object), steps: undefined });

test("any such program passes the check of the development mode", async () => {
  const crashes = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
  await fc.assert(
    fc.asyncProperty(program, crashes, async (program, crashes) => {
      const { end } = await live(program, crashes, [], true);
      expect(end, "the end").not.toMatchObject({ error_name: "NondeterminismError" });
      expect(end, "the end").not.toMatchObject({ outcome: "unfit" });
    }),
    { numRuns: 200 },
  );
});

const turns = async (count: number) => {
  for (let n = 0; n < count; n += 1) await nextTurn();
};

/** Something is stored and in progress while the program goes on. */
const besideOthers = program.map(
  (inner): Program => ({
    kind: "all",
    parts: [{ kind: "run", turns: 0, fails: false }, inner, { kind: "run", turns: 12, fails: false }],
  }),
);

test("any program fits its journal when steps without attempts fail, steps are stored slowly, and workers stop", async () => {
  const execution = fc.record({ storeTurns: fc.nat({ max: 4 }), stopsAfterTurns: fc.option(fc.nat({ max: 14 })) });
  await fc.assert(
    fc.asyncProperty(besideOthers, fc.array(execution, { minLength: 1, maxLength: 4 }), async (program, executions) => {
      const onStart = (key: string) => expect(run.keys, "a step in the journal is executed again").not.toContain(key);
      const run = new MemoryRun((context: WorkflowContext<never>) => carryOut(program, "p", context, { see: () => {}, onStart }));
      run.host = { uuid: (key) => key, misfitAfterMs: 1_000, timer: () => turns(2) };
      for (let at = 0; ; at += 1) {
        // The last one is not stopped, so that the run comes to an end.
        const { storeTurns = 0, stopsAfterTurns = null } = executions[at] ?? {};
        const controller = new AbortController();
        if (stopsAfterTurns !== null) void turns(stopsAfterTurns).then(() => controller.abort(new RunAbortedError("shutdown")));
        const store: RunHost["store"] = async (steps) => {
          await turns(storeTurns);
          run.append(steps);
          return at % 2 === 0 ? waitsOf(steps) : [];
        };
        const end = await run.execute({ signal: controller.signal, store });
        expect(end, "the end").not.toMatchObject({ outcome: "unfit" });
        if (end.outcome === "suspended") run.wake();
        else if (end.outcome === "failed" && end.retry !== false && run.attempt < 3) run.attempt += 1;
        else if (end.outcome !== "released") return;
      }
    }),
    { numRuns: 400 },
  );
});
