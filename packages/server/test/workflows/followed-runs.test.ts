import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LoopTime, problem, type RunId, SharedResource, type Statement, unavailable, type WorkspaceId } from "#kernel";
import type { EventCursor } from "../../src/workflows/watch/cursor.ts";
import { FollowedRuns } from "../../src/workflows/watch/followed-runs.ts";

const KEY = { workspaceId: "w" as WorkspaceId, id: "01994a5b-0000-7000-8000-000000000000" as RunId };

/** A reader that takes the next chunk when a test lets it. */
class SlowReader extends Writable {
  text = "";
  #take: (() => void) | null = null;

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#take = () => {
      this.text += chunk.toString();
      done();
    };
  }

  async take(): Promise<string> {
    const before = this.text.length;
    const take = this.#take;
    this.#take = null;
    take?.();
    await vi.advanceTimersByTimeAsync(0);
    return this.text.slice(before);
  }
}

const NOON = "2026-11-21T12:00:00Z";

/** A step as it is read for those who follow its run. */
const STEP = {
  ...{ seq: 1, changed_seq: 1, key: "a", type: "run", status: "completed", output: "1", error: null, attempt: 1 },
  ...{ started_at: NOON, ended_at: NOON, wake_at: null, signal: null, child_run_id: null, undoable: false },
};

/** A run whose row a test changes, and how often it was looked at. */
function fixture() {
  const run = {
    id: KEY.id,
    status: "running",
    trigger: "{}",
    input: "1",
    last_seq: 0,
    journal_bytes: 0,
    bytes: 0,
    retries: 0,
    ended_at: null,
    error: null,
    result: null,
  };
  const state = {
    run: { ...run, progress: null as string | null },
    looks: 0,
    marks: 0,
    /** How large the steps are that lie after one place that a reader has, after two of them, and so on. */
    lacking: [] as readonly { readonly passed: number; readonly bytes: number }[],
    /** The steps that were read. */
    read: [] as WeakRef<object>[],
    /** The memory that was taken when steps were read. */
    heldToRead: 0,
  };
  const rowsOf = (text: string): object[] => {
    if (text.includes("r.progress")) return [{ ...state.run }];
    if (text.includes("width_bucket")) return [...state.lacking];
    if (!text.includes("order by changed_seq")) return [];
    state.heldToRead = shares.requestMemory.heldBy(KEY.workspaceId);
    const step = { ...STEP };
    state.read.push(new WeakRef(step));
    return [step];
  };
  const query = async ({ text }: Statement) => {
    if (text.includes("update run set watched_until")) state.marks += 1;
    if (text.includes("r.progress")) state.looks += 1;
    return { rows: rowsOf(text) };
  };
  let heldMs = 0;
  const clock = { elapsedMs: () => heldMs };
  const advance = async (ms: number) => {
    heldMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  const shares = {
    eventStreams: new SharedResource({ name: "event_streams", capacity: 100 }),
    requestMemory: new SharedResource({ name: "request_memory", capacity: 1_000_000 }),
    loopTime: new LoopTime(),
  };
  const followed = new FollowedRuns({ tenants: { of: () => ({ query }) } as never, clock, shares });
  const say = (progress: string) => {
    state.run.progress = progress;
    followed.changed(KEY);
  };
  const open = (cursor: EventCursor | null = null, reauthenticate = async () => {}) =>
    followed.open(KEY, cursor, { reauthenticate, personId: null });
  return { state, shares, advance, say, open };
}

/** A stream that has sent the run. */
async function opened({ open, advance }: ReturnType<typeof fixture>, reader: Writable, reauthenticate = async () => {}) {
  const stream = open(null, reauthenticate);
  await advance(0);
  stream.pipe(reader);
  await advance(0);
  return stream;
}

describe("a run that is followed", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is looked at when it has changed, once in 200 ms at most, for all of its readers", async () => {
    const one = fixture();
    const readers = Array.from({ length: 5 }, () => new Writable({ write: (_chunk, _encoding, done) => done() }));
    for (const reader of readers) await opened(one, reader);
    await one.advance(1_000);
    const before = one.state.looks;
    await one.advance(60_000);
    expect(one.state.looks - before).toBe(0);
    for (let at = 0; at < 100; at += 1) {
      one.say(String(at));
      await one.advance(10);
    }
    expect(one.state.looks - before).toBe(6);
    await one.advance(1_000);
    expect(one.state.looks - before).toBe(6);
  });

  test("is marked as followed before the first look, and every four minutes", async () => {
    const one = fixture();
    await opened(one, new Writable({ write: (_chunk, _encoding, done) => done() }));
    expect(one.state.marks).toBe(1);
    await one.advance(480_000);
    expect(one.state.marks).toBe(3);
  });

  test("ends for a reader who has lost the right, and breaks off when that cannot be asked while the database is away", async () => {
    const one = fixture();
    let isRefused = false;
    const readers = Array.from({ length: 2 }, () => new Writable({ write: (_chunk, _encoding, done) => done() }));
    const [lost, unknown] = await Promise.all(
      [problem("UNAUTHORIZED"), unavailable()].map((error, at) =>
        opened(one, readers[at] as Writable, async () => {
          if (isRefused) throw error;
        }),
      ),
    );
    isRefused = true;
    await one.advance(15_000);
    expect([lost?.readableEnded, unknown?.readableEnded]).toEqual([true, false]);
    expect([lost?.destroyed, unknown?.destroyed]).toEqual([true, true]);
  });

  test("gives a slow reader what it had not taken, and then the newest: nothing piles up", async () => {
    const one = fixture();
    const reader = new SlowReader();
    await opened(one, reader);
    for (let at = 1; at <= 50; at += 1) {
      one.say(String(at));
      await one.advance(200);
    }
    const { looks } = one.state;
    expect(looks).toBeLessThan(4);
    expect(await reader.take()).toContain("event: run");
    await one.advance(200);
    const rest = [await reader.take(), await reader.take()].join("");
    expect(rest).toContain('data: {"progress":50}');
    expect(rest.match(/event: progress/g)?.length).toBeLessThan(3);
  });

  test("is read for a reader who has waited for memory, though it has grown since, and then counts as what it is", async () => {
    const one = fixture();
    const { requestMemory } = one.shares;
    one.state.run.bytes = 900_000;
    requestMemory.take(KEY.workspaceId, requestMemory.capacity);
    const stream = one.open();
    await one.advance(0);
    expect(requestMemory.waiting).toBe(1);
    requestMemory.release(KEY.workspaceId, requestMemory.capacity);
    await one.advance(0);
    requestMemory.take(KEY.workspaceId, requestMemory.capacity);
    one.state.run.bytes = 950_000;
    await one.advance(200);
    await stream.opened;
    expect(one.state.heldToRead).toBe(requestMemory.capacity + 950_000);
    expect(requestMemory.waiting).toBe(0);
    stream.destroy();
    await one.advance(0);
    expect(requestMemory.heldBy(KEY.workspaceId)).toBe(requestMemory.capacity);
  });

  test("waits for memory for those who come back and lack much of a long journal, and not for those who lack little or nothing", async () => {
    const one = fixture();
    const { requestMemory } = one.shares;
    Object.assign(one.state.run, { bytes: 900_000, journal_bytes: 900_000, last_seq: 10 });
    const first = one.open();
    await one.advance(0);
    requestMemory.take(KEY.workspaceId, requestMemory.capacity);
    one.state.lacking = [
      { passed: 1, bytes: 899_000 },
      { passed: 2, bytes: 1_000 },
    ];
    const cursorAt = (steps: number) => ({ ...(first.cursor as EventCursor), steps });
    const all = one.open(first.cursor);
    const much = one.open(cursorAt(0));
    const little = one.open(cursorAt(9));
    await one.advance(200);
    await Promise.all([all.opened, little.opened]);
    expect(requestMemory.waiting).toBe(1);
    requestMemory.release(KEY.workspaceId, requestMemory.capacity);
    await one.advance(200);
    await much.opened;
    for (const stream of [first, all, much, little]) stream.destroy();
    await one.advance(0);
    expect(requestMemory.heldBy(KEY.workspaceId)).toBe(0);
  });

  test("takes no memory for a reader who may not read it any more, and does not wait for any", async () => {
    const one = fixture();
    const { requestMemory } = one.shares;
    one.state.run.bytes = 900_000;
    requestMemory.take(KEY.workspaceId, requestMemory.capacity);
    const stream = one.open();
    stream.shutOut();
    await one.advance(0);
    expect([requestMemory.waiting, requestMemory.heldBy(KEY.workspaceId)]).toEqual([0, requestMemory.capacity]);
  });

  test("does not stay in memory when its readers have taken it", async () => {
    const one = fixture();
    one.state.run.last_seq = 1;
    const stream = await opened(one, new Writable({ write: (_chunk, _encoding, done) => done() }));
    await one.advance(200);
    vi.useRealTimers();
    await setImmediate();
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
    expect(one.state.read.map((step) => step.deref())).toEqual([undefined]);
    expect(stream.destroyed).toBe(false);
    stream.destroy();
  });

  test("counts a large event as memory until its reader has taken it", async () => {
    const one = fixture();
    one.state.run.input = JSON.stringify("x".repeat(50_000));
    const reader = new SlowReader();
    const stream = await opened(one, reader);
    expect(one.shares.requestMemory.heldBy(KEY.workspaceId)).toBeGreaterThan(50_000);
    await reader.take();
    expect(one.shares.requestMemory.heldBy(KEY.workspaceId)).toBe(0);
    expect(one.shares.eventStreams.heldBy(KEY.workspaceId)).toBe(1);
    stream.destroy();
    await one.advance(0);
    expect(one.shares.eventStreams.heldBy(KEY.workspaceId)).toBe(0);
  });

  test("that is long is not sent on to a reader who has lost the right", async () => {
    const one = fixture();
    one.state.run.input = JSON.stringify("x".repeat(700_000));
    const reader = new SlowReader();
    let isRefused = false;
    const stream = await opened(one, reader, async () => {
      if (isRefused) throw problem("UNAUTHORIZED");
    });
    await reader.take();
    isRefused = true;
    await one.advance(15_000);
    expect(stream.destroyed).toBe(true);
    expect(stream.readableEnded).toBe(false);
    expect(one.shares.requestMemory.heldBy(KEY.workspaceId)).toBe(0);
  });

  test.each(["running", "completed"])("that is long and %s is sent in pieces, whole and once", async (status) => {
    const one = fixture();
    Object.assign(one.state.run, {
      status,
      input: `[\n"${"x".repeat(600_000)}"]`,
      ended_at: status === "completed" ? "2026-11-21T12:00:00Z" : null,
    });
    const reader = new SlowReader();
    const stream = await opened(one, reader);
    const pieces: string[] = [];
    for (let piece = await reader.take(); piece !== ""; piece = await reader.take()) {
      pieces.push(piece);
      // Not before the rest of what is being sent.
      if (pieces.length === 1) one.say("1");
      await one.advance(200);
    }
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(256 * 1024);
    const [event, ...later] = pieces.join("").split("\n\n").filter(Boolean);
    const data = JSON.parse(/^data: (.*)$/m.exec(event ?? "")?.[1] ?? "");
    expect(data).toMatchObject({ status, input: ["x".repeat(600_000)] });
    expect(later.map((text) => /^data: .*$/m.exec(text)?.[0])).toEqual(status === "running" ? ['data: {"progress":1}'] : []);
    expect(stream.readableEnded).toBe(status === "completed");
    expect(one.shares.requestMemory.heldBy(KEY.workspaceId)).toBe(0);
  });

  test("sends a comment every 15 seconds, unless the reader has not taken what came before", async () => {
    const one = fixture();
    const reader = new SlowReader();
    await opened(one, reader);
    await one.advance(60_000);
    await reader.take();
    await one.advance(15_000);
    expect(await reader.take()).toBe(": heartbeat\n\n");
    expect(reader.text.match(/heartbeat/g)).toHaveLength(1);
  });

  test("is not looked at any more when its last reader is gone", async () => {
    const one = fixture();
    const stream = await opened(one, new Writable({ write: (_chunk, _encoding, done) => done() }));
    stream.destroy();
    await one.advance(0);
    const { looks, marks } = one.state;
    one.say("1");
    await one.advance(600_000);
    expect([one.state.looks, one.state.marks]).toEqual([looks, marks]);
  });
});
