import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { unavailable } from "#kernel";
import { SerialDatabase } from "../../src/kernel/database/serial-database.ts";

type Result = { rows: unknown[] };

/** The statements that the database was given and has not answered, in their order. */
let asked: { text: string; done: PromiseWithResolvers<Result> }[];
let db: SerialDatabase;

beforeEach(() => {
  asked = [];
  const ask = (text: string): Promise<Result> => {
    const done = Promise.withResolvers<Result>();
    asked.push({ text, done });
    return done.promise;
  };
  db = new SerialDatabase({
    query: ({ text }) => ask(text),
    transaction: (work) => ask("transaction").then(() => work({ query: ({ text }) => ask(text) })),
  });
});

const query = (text: string) => db.query({ name: text, text, values: [] });
const answer = (rows: unknown[]) => asked.shift()?.done.resolve({ rows });
const texts = () => asked.map(({ text }) => text);

describe("a database that is used by one at a time", () => {
  test("a statement waits until those before it are answered, in their order", async () => {
    const results = [query("one"), query("two"), query("three")];
    for (const expected of ["one", "two", "three"]) {
      await setImmediate();
      expect(texts()).toEqual([expected]);
      answer([expected]);
    }
    expect((await Promise.all(results)).map(({ rows }) => rows)).toEqual([["one"], ["two"], ["three"]]);
  });

  test("a statement waits for the whole of a transaction", async () => {
    const transaction = db.transaction(async (tx) => (await tx.query({ name: "inside", text: "inside", values: [] })).rows);
    const after = query("after");
    answer([]);
    await setImmediate();
    expect(texts()).toEqual(["inside"]);
    answer(["it"]);
    expect(await transaction).toEqual(["it"]);
    await setImmediate();
    expect(texts()).toEqual(["after"]);
    answer([]);
    await after;
  });

  test("a statement that fails does not keep the next one from its turn", async () => {
    const failing = query("one");
    const next = query("two");
    asked.shift()?.done.reject(new Error("It is refused."));
    await expect(failing).rejects.toThrow("It is refused.");
    await setImmediate();
    expect(texts()).toEqual(["two"]);
    answer([2]);
    expect((await next).rows).toEqual([2]);
  });

  test("a statement that takes too long does not keep the next one from its turn", async () => {
    const failing = query("one");
    const next = query("two");
    asked.shift()?.done.reject(Object.assign(unavailable(), { cause: { code: "57014" } }));
    await expect(failing).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await setImmediate();
    answer([2]);
    expect((await next).rows).toEqual([2]);
  });

  test("those that wait fail with the one that finds the database away, and later ones have their turn", async () => {
    const all = [query("one"), query("two"), query("three")].map((result) => result.catch((error: { code: string }) => error.code));
    asked.shift()?.done.reject(unavailable("The database is away."));
    expect(await Promise.all(all)).toEqual(["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]);
    expect(texts()).toEqual([]);
    const later = query("later");
    answer([1]);
    expect((await later).rows).toEqual([1]);
  });
});
