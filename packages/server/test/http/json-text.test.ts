import { expect, test } from "vitest";
import { type JsonStream, jsonText } from "#http";

const PART = "x".repeat(100_000);

test("a long response is sent in many turns of the event loop, also to a client that takes all of it at once", async () => {
  const stream = jsonText(Array(40).fill(PART)) as JsonStream;
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const turns: number[] = [];
  let text = "";
  for await (const chunk of stream) {
    turns.push(turn);
    text += chunk;
  }
  isOver = true;
  expect(text).toBe(PART.repeat(40));
  expect(turns.length).toBeGreaterThan(12);
  expect(new Set(turns).size).toBeGreaterThanOrEqual(turns.length / 4);
});

test("a response that nobody takes any more makes no further chunks", async () => {
  const stream = jsonText(Array(40).fill(PART)) as JsonStream;
  const chunks: string[] = [];
  stream.on("data", (chunk: string) => {
    chunks.push(chunk);
    stream.destroy();
  });
  await new Promise((resolve) => stream.once("close", resolve));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(chunks.length).toBeLessThan(4);
});

test("a short response is one string", () => {
  expect(jsonText(["[", "1", "]"])).toBe("[1]");
});
