import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { chunksOf, createApi, type JsonStream, jsonText, listen } from "#http";
import { systemRandom, type WorkspaceId } from "#kernel";
import { principalOf } from "../harness/principal.ts";

const PART = "x".repeat(256 * 1024);

test("a long response is sent in many turns of the event loop, also to a client that takes all of it at once", async () => {
  const stream = jsonText(Array(40).fill(PART)) as JsonStream;
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) globalThis.setImmediate(count);
  };
  globalThis.setImmediate(count);
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
  await setImmediate();
  await setImmediate();
  expect(chunks.length).toBeLessThan(4);
});

test("a short response is one string", () => {
  expect(jsonText(["[", "1", "]"])).toBe("[1]");
});

test("long responses share what is sent in a turn of the event loop, and workspaces take turns", async () => {
  const begin = (workspaceId: string) => {
    const stream = jsonText(Array(80).fill(PART)) as JsonStream;
    stream.workspaceId = workspaceId as WorkspaceId;
    let chunks = 0;
    stream.on("data", () => {
      chunks += 1;
    });
    return { count: () => chunks, stream };
  };
  const many = Array.from({ length: 30 }, () => begin("a"));
  const one = begin("b");
  await setImmediate();
  const sum = () => many.reduce((total, { count }) => total + count(), one.count());
  for (let turn = 0; turn < 20; turn += 1) {
    const [before, ofOne] = [sum(), one.count()];
    await setImmediate();
    expect(sum() - before).toBeLessThanOrEqual(4);
    expect(one.count()).toBe(ofOne + 1);
  }
  const last = begin("a");
  await setImmediate();
  // Those that have ended take no turns.
  for (const { stream } of [...many, one]) stream.destroy();
  const before = last.count();
  for (let turn = 0; turn < 4; turn += 1) await setImmediate();
  expect(last.count()).toBeGreaterThanOrEqual(before + 8);
  last.stream.destroy();
});

test("a long response of a request has the turns of its workspace", async ({ onTestFinished }) => {
  const principal = principalOf("a");
  const api = createApi({ authenticator: { findPrincipal: () => principal, operatorToken: null }, emit: () => {}, random: systemRandom });
  onTestFinished(() => api.close());
  const stream = jsonText(Array(10).fill(PART)) as JsonStream;
  api.get("/long", { config: { access: "read" } }, (_request, reply) => reply.send(stream));
  const url = await listen(api, "127.0.0.1", 0);
  const response = await fetch(`${url}/long`, { headers: { authorization: "Bearer a" } });
  expect(await response.text()).toBe(PART.repeat(10));
  expect(stream.workspaceId).toBe(principal.workspaceId);
});

test("a long value is sent as it is, and what is short around it together", () => {
  const value = "x".repeat(300_000);
  const chunks = [...chunksOf(["[", value, ",", "1", ",", value, "]"])];
  expect(chunks.map(({ length }) => length)).toEqual([1, 262_144, 37_856, 3, 262_144, 37_856, 1]);
  expect(chunks.join("")).toBe(`[${value},1,${value}]`);
});

test("an item that is longer than a chunk is sent in several, and no character is cut in two", async () => {
  const item = `"${"🌊".repeat(400_000)}"`;
  const stream = jsonText(["[", item, ",", `"x${item.slice(1)}`, "]"]) as JsonStream;
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as string));
  expect(Buffer.concat(chunks).toString()).toBe(`[${item},"x${item.slice(1)}]`);
  expect(chunks.length).toBeGreaterThan(5);
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(600_000);
});
