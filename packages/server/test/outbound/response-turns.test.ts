import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { type ReadConnection, ResponseTurns } from "../../src/outbound/response-turns.ts";

/** Connections to some origins, each with a response of some parts. Reading a part takes a millisecond. */
function connectionsOf(responses: readonly { readonly origin: string; readonly parts: number }[]) {
  let nowMs = 0;
  const turns = new ResponseTurns(() => nowMs);
  const read: string[] = [];
  const connections = responses.map(({ origin, parts }): ReadConnection => {
    let left = parts;
    const resume = () => {
      while (left > 0 && turns.mayRead(connection)) {
        nowMs += 1;
        left -= 1;
        read.push(origin);
      }
    };
    const connection = { origin, resume };
    return connection;
  });
  const takeRead = () => read.splice(0).join("");
  return { arrive: () => connections.forEach(({ resume }) => void resume()), takeRead };
}

test("responses are read for 4 ms of a turn, and those that are left in later turns", async () => {
  const { arrive, takeRead } = connectionsOf(Array.from({ length: 10 }, () => ({ origin: "a", parts: 1 })));
  arrive();
  expect(takeRead()).toBe("aaaa");
  await setImmediate();
  expect(takeRead()).toBe("aaaa");
  await setImmediate();
  expect(takeRead()).toBe("aa");
  await setImmediate();
  expect(takeRead()).toBe("");
});

test("origins take turns at what is left, however many connections one of them has", async () => {
  const { arrive, takeRead } = connectionsOf([...Array.from({ length: 12 }, () => ({ origin: "a", parts: 1 })), { origin: "b", parts: 1 }]);
  arrive();
  expect(takeRead()).toBe("aaaa");
  await setImmediate();
  expect(takeRead()).toBe("abaa");
});

test("a long response waits for its next turn in its midst, and is read to its end", async () => {
  const { arrive, takeRead } = connectionsOf([
    { origin: "a", parts: 9 },
    { origin: "b", parts: 1 },
  ]);
  arrive();
  expect(takeRead()).toBe("aaaa");
  await setImmediate();
  expect(takeRead()).toBe("aaaa");
  await setImmediate();
  expect(takeRead()).toBe("ba");
});

test("a turn reads something, also if its time is over when it begins", async () => {
  let nowMs = 0;
  const turns = new ResponseTurns(() => (nowMs += 10));
  const read: string[] = [];
  for (const origin of ["a", "b", "c"]) {
    const connection: ReadConnection = { origin, resume: () => void (turns.mayRead(connection) && read.push(origin)) };
    connection.resume();
  }
  expect(read).toEqual(["a"]);
  await setImmediate();
  expect(read).toEqual(["a", "b"]);
  await setImmediate();
  expect(read).toEqual(["a", "b", "c"]);
});
