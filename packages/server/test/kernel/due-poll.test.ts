import { describe, expect } from "vitest";
import { DatabaseClock, type Db, DuePoll, fragment, systemRandom } from "#kernel";
import { test } from "../harness/engine.ts";
import { until } from "../harness/service.ts";

/** A loop that records what a poll asks of it. */
const recorder = () => {
  const asked: (string | number)[] = [];
  return {
    asked,
    loop: { wakeUnlessFailed: () => void asked.push("wake"), expectIn: (ms: number) => void asked.push(Math.round(ms / 1000)) },
  };
};

const options = {
  clock: new DatabaseClock(),
  changes: { sinceLast: fragment`select '' where false`, receive: () => {} },
  everyMs: 60_000,
  emit: () => {},
  random: systemRandom,
};

describe("a poll for what is due", () => {
  test("a poll for what is due asks for all of it in one statement, and has loops pass at once, later, or not at all", async ({
    engine,
    clock: _,
  }) => {
    const [due, later, none] = [recorder(), recorder(), recorder()];
    let statements = 0;
    const db = {
      query: (...[statement]: Parameters<typeof engine.query>) => {
        statements += 1;
        return engine.query(statement);
      },
    };
    const poll = new DuePoll({
      ...options,
      db,
      sources: [
        { loop: due.loop, nextDue: fragment`select moment() - interval '1 second'` },
        { loop: later.loop, nextDue: fragment`select moment() + interval '30 seconds' where true` },
        { loop: none.loop, nextDue: fragment`select moment() where false` },
      ],
    });
    await poll.start();
    await until(() => due.asked.length > 0, "the poll");
    await poll.stop();
    expect([due.asked, later.asked, none.asked, statements]).toEqual([["wake"], [30], [], 1]);
  });

  test("a poll for what is due that fails has all loops look for themselves", async ({ engine, clock: _ }) => {
    const [one, other] = [recorder(), recorder()];
    const failures: unknown[] = [];
    const poll = new DuePoll({
      ...options,
      db: engine,
      sources: [
        { loop: one.loop, nextDue: fragment`select moment() where false` },
        { loop: other.loop, nextDue: fragment`select moment() from a_table_that_is_missing` },
      ],
      emit: (name) => void failures.push(name),
    });
    await poll.start();
    await until(() => failures.length > 0, "the poll");
    await poll.stop();
    expect([one.asked, other.asked, failures]).toEqual([["wake"], ["wake"], ["loop_failed"]]);
  });

  test("a poll for what is due lets the node start when PostgreSQL does not respond", async ({ engine, clock: _ }) => {
    const response = Promise.withResolvers<void>();
    const received: (readonly string[] | null)[] = [];
    const poll = new DuePoll({
      ...options,
      db: { query: (statement) => response.promise.then(() => engine.query(statement)) },
      sources: [{ loop: recorder().loop, nextDue: fragment`select moment() where false` }],
      changes: { ...options.changes, receive: (changes) => void received.push(changes) },
      maxFirstPollSeconds: 0.01,
    });
    await poll.start();
    expect(received).toEqual([]);
    response.resolve();
    await until(() => received.length > 0, "the poll");
    await poll.stop();
    expect(received).toEqual([null]);
  });

  test.for([
    { case: "a second later", known: true },
    { case: "of another server", known: false, server: "2026-01-01 00:00:00+00" },
    { case: "five minutes later by the node's clock", known: false, nodeMs: 300_000 },
    { case: "five minutes later by the database's clock", known: false, serverMs: 300_000 },
    { case: "after the database's clock was set back", known: false, serverMs: -300_000 },
  ])(
    "a poll for what is due knows what has changed since the last poll: $case",
    async ({ known, server, nodeMs = 1_000, serverMs = 1_000 }, { engine, clock: _ }) => {
      let polls = 0;
      const db: Db = {
        query: async (statement) => {
          const result = await engine.query(statement);
          const [polled] = result.rows;
          polls += 1;
          if (polled)
            Object.assign(polled, { server: (polls > 1 && server) || "2026-01-02 00:00:00+00", server_ms: polls > 1 ? serverMs : 0 });
          return result as never;
        },
      };
      const received: (readonly string[] | null)[] = [];
      const poll = new DuePoll({
        ...options,
        db,
        clock: { elapsedMs: () => (received.length > 0 ? nodeMs : 0) },
        sources: [{ loop: recorder().loop, nextDue: fragment`select moment() where false` }],
        changes: { sinceLast: fragment`select 'changed'`, receive: (changes) => void received.push(changes) },
      });
      await poll.start();
      await until(() => received.length === 1, "the first poll");
      poll.wake();
      await until(() => received.length === 2, "the second poll");
      await poll.stop();
      expect(received).toEqual([null, known ? ["changed"] : null]);
    },
  );
});
