import { Socket } from "node:net";
import { expect, test } from "vitest";
import { ResponseLimiter } from "../../src/outbound/response-limiter.ts";

const HEAD = "HTTP/1.1 200 OK\r\n\r\n";

/** What the limiter passes of a head and what follows it, which came at once. */
function slicesOf(rest: string, beginBody: (limiter: ResponseLimiter) => void): string[] {
  const arrived = [Buffer.from(HEAD + rest)];
  // It is destroyed with an error when a response is refused.
  const socket = new Socket().on("error", () => {});
  const limiter = new ResponseLimiter(socket, () => arrived.shift() ?? null);
  const slices: string[] = [];
  for (let slice = limiter.next(); slice; slice = limiter.next()) {
    if (slices.push(slice.toString()) === 1) beginBody(limiter);
  }
  return slices.slice(1);
}

test("a body whose length the head has said passes as it comes", () => {
  const body = "x".repeat(60_000);
  expect(slicesOf(body, (limiter) => limiter.beginBody(body.length))).toEqual([body]);
});

test("what follows such a body passes in small slices again", () => {
  const [body, rest] = ["x".repeat(5_000), "y".repeat(1_500)];
  expect(slicesOf(body + rest, (limiter) => limiter.beginBody(body.length))).toEqual([body, "y".repeat(1_024), "y".repeat(476)]);
});

test("a body of unknown length passes in small slices", () => {
  expect(slicesOf("x".repeat(2_000), (limiter) => limiter.beginBody(null)).map(({ length }) => length)).toEqual([1_024, 976]);
});

test("a response without the body whose length its head has said does not make the next one pass at once", () => {
  const slices = slicesOf("x".repeat(20_000), (limiter) => {
    limiter.beginBody(20_000);
    limiter.endResponse();
  });
  expect(slices[0]).toHaveLength(16 * 1_024);
});
