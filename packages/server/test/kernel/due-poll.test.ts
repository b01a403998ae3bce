import { describe, expect } from "vitest";
import { DatabaseClock, DuePoll, fragment, systemRandom } from "#kernel";
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
    poll.start();
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
    poll.start();
    await until(() => failures.length > 0, "the poll");
    await poll.stop();
    expect([one.asked, other.asked, failures]).toEqual([["wake"], ["wake"], ["loop_failed"]]);
  });
});
