import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rows, sql } from "#kernel";
import { MessageReader } from "../../src/kernel/database/message-reader.ts";
import { ReadTurns } from "../../src/kernel/database/read-turns.ts";
import { test as withEngine } from "../harness/engine.ts";

const KIB = 1024;

/** A message of PostgreSQL, whose bytes tell it apart from others. */
function message(length: number, number: number): Buffer {
  const bytes = Buffer.alloc(5 + length, number % 251);
  bytes.write("D");
  bytes.writeUInt32BE(4 + length, 1);
  return bytes;
}

/** Gives a reader pieces, and returns what it passes on. */
async function read(pieces: readonly Buffer[]): Promise<Buffer[]> {
  const stream = new PassThrough({ highWaterMark: 64 * 1024 * KIB });
  const passed: Buffer[] = [];
  // pg keeps nothing of it.
  new MessageReader(stream, new ReadTurns(() => 0)).on("data", (messages) => passed.push(Buffer.from(messages)));
  for (const piece of pieces) {
    stream.write(piece);
    await setImmediate();
  }
  return passed;
}

const split = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const ends = [...new Set([...at.map((one) => one % (bytes.length + 1)), bytes.length])].sort((one, other) => one - other);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)).filter(({ length }) => length > 0);
};

test("messages are passed on whole and in order, wherever the pieces end in which they come", async () => {
  const lengths = fc.array(fc.oneof(fc.nat(20), fc.nat(3_000), fc.integer({ min: 60 * KIB, max: 300 * KIB })), {
    minLength: 1,
    maxLength: 6,
  });
  const cuts = fc.array(fc.nat(), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(lengths, cuts, async (some, at) => {
      const bytes = Buffer.concat(some.map(message));
      const passed = await read(split(bytes, at));
      expect(Buffer.concat(passed).equals(bytes)).toBe(true);
      for (const messages of passed) {
        let end = 0;
        while (end < messages.length) end += 1 + messages.readUInt32BE(end + 1);
        expect(end).toBe(messages.length);
      }
    }),
    { numRuns: 60 },
  );
});

test("a message that comes byte by byte is passed on once", async () => {
  const bytes = Buffer.concat([message(3, 1), message(0, 2)]);
  const passed = await read([...bytes].map((byte) => Buffer.from([byte])));
  expect(passed).toEqual([message(3, 1), message(0, 2)]);
});

test("memory that other buffers share is not used again", async () => {
  const text = "a value that somebody keeps";
  const others = Array.from({ length: 50 }, () => Buffer.from(text));
  const short = message(100, 1);
  // As long as what Node shares among short buffers.
  const long = message(Buffer.poolSize - 5, 2);
  await read([short.subarray(0, 50), short.subarray(50), long.subarray(0, 50), long.subarray(50)]);
  expect(others.map(String)).toEqual(Array(50).fill(text));
});

test("what is no message of PostgreSQL ends the connection", async () => {
  const stream = new PassThrough();
  const errors: Error[] = [];
  stream.on("error", (error) => errors.push(error));
  new MessageReader(stream, new ReadTurns()).on("data", () => {});
  stream.write("HTTP/1.1 400 Bad Request\r\n");
  await setImmediate();
  expect(stream.destroyed).toBe(true);
  expect(errors.map(({ message }) => message)).toEqual(["The received data is not a message of PostgreSQL."]);
});

test("connections with long results divide the time of each turn of the event loop equally", async () => {
  let nowMs = 0;
  const turns = new ReadTurns(() => nowMs);
  const piece = message(64 * KIB - 5, 1);
  const read = [0, 0, 0];
  const streams = read.map((_, at) => {
    const stream = new PassThrough({ highWaterMark: 64 * 1024 * KIB });
    for (let count = 0; count < 40; count += 1) stream.write(piece);
    stream.end();
    new MessageReader(stream, turns).on("data", () => {
      nowMs += 1;
      (read[at] as number) += 1;
    });
    return stream;
  });
  const inTurns: number[][] = [];
  for (let before = [...read]; streams.some(({ readableEnded }) => !readableEnded); before = [...read]) {
    await setImmediate();
    inTurns.push(read.map((count, at) => count - (before[at] as number)));
  }
  expect(read).toEqual([40, 40, 40]);
  const [first, ...others] = inTurns.filter((counts) => counts.some((count) => count > 0));
  // How many there are is not known before.
  expect(first).toEqual([3, 2, 1]);
  expect(others.slice(0, 37)).toEqual(Array(37).fill([1, 1, 1]));
  expect(others.slice(37)).toEqual([
    [0, 1, 1],
    [0, 0, 1],
  ]);
});

withEngine("long rows of several connections at once arrive as they are", async ({ engine }) => {
  const long = sql`select repeat(chr(97 + n), ${1_500_000}::int) as text, n from generate_series(0, 3) as n order by n`;
  const found = await Promise.all(Array.from({ length: 6 }, () => rows<{ text: string; n: number }>(engine, long)));
  for (const each of found) {
    expect(each.map(({ n }) => n)).toEqual([0, 1, 2, 3]);
    for (const { text, n } of each) expect(text === String.fromCharCode(97 + n).repeat(1_500_000)).toBe(true);
  }
});
