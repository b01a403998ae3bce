import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { describe, expect } from "vitest";
import { test } from "../harness/engine.ts";
import { RawServer } from "../harness/raw-server.ts";
import { until } from "../harness/service.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const MOST_LINES = 128;
const MOST_BYTES = 16 * 1024;
const TURNS = 5;

const LONG = JSON.stringify(
  Array.from({ length: 5_000 }, (_, index) => index),
  null,
  1,
);
const lengthOf = (body: string) => `Content-Length: ${body.length}\r\n`;
const chunksOf = (body: string, size: number) =>
  (body.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []).map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);

/** A head with this many lines, including the empty one, and its body. */
const headOfLines = (lines: number, body: string) => `${OK}${lengthOf(body)}${"a:\r\n".repeat(lines - 3)}\r\n${body}`;
/** A head with this many bytes, including `framing`. */
const headOfBytes = (bytes: number, framing: string) => `${OK}${framing}X: ${"x".repeat(bytes - OK.length - framing.length - 7)}\r\n\r\n`;

/** The node, which is in the same process, reads each piece by itself. */
async function sayInTurn(socket: Socket, pieces: readonly string[]): Promise<void> {
  socket.setNoDelay();
  for (const piece of pieces) {
    socket.write(piece);
    for (let turn = 0; turn < TURNS; turn += 1) await setImmediate();
  }
}

const CHUNKED = "Transfer-Encoding: chunked\r\n";
const TRAILERS = `0\r\nX-Sum: ${"x".repeat(500)}\r\n\r\n`;

describe("an answer within its limits is taken, and its connection kept", () => {
  test.for([
    ["a body of thousands of lines with its head", [`${OK}${lengthOf(LONG)}\r\n${LONG}`], LONG],
    ["as many lines of a head as may be, with such a body", [headOfLines(MOST_LINES, LONG)], LONG],
    ["as many bytes of a head as may be, with such a body", [headOfBytes(MOST_BYTES, lengthOf(LONG)) + LONG], LONG],
    [
      "as many bytes of a head as may be, and trailers",
      [`${headOfBytes(MOST_BYTES, CHUNKED)}${chunksOf(LONG, 4_096).join("")}${TRAILERS}`],
      LONG,
    ],
    ["a head that comes byte by byte", [..."HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", "7"], "7"],
    ["a body with the end of the empty line before it", [`${OK}${lengthOf(LONG)}\r`, `\n${LONG}`], LONG],
    ["a body with the empty line before it", [`${OK}${lengthOf(LONG)}`, `\r\n${LONG}`], LONG],
    ["a head after a hint", [`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}${lengthOf(LONG)}\r\n${LONG}`], LONG],
    ["a head a while after a hint", ["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", `${OK}${lengthOf(LONG)}\r\n${LONG}`], LONG],
    ["one long chunk", [`${OK}${CHUNKED}\r\n${chunksOf(LONG, 65_536).join("")}0\r\n\r\n`], LONG],
    ["chunks of a line or two", [`${OK}${CHUNKED}\r\n${chunksOf(LONG, 60).join("")}0\r\n\r\n`], LONG],
    [
      "a thousand chunks of a byte",
      [`${OK}${CHUNKED}\r\n${chunksOf(`"${"x".repeat(998)}"`, 1).join("")}0\r\n\r\n`],
      `"${"x".repeat(998)}"`,
    ],
    [
      "chunks of a byte that come one by one",
      [`${OK}${CHUNKED}\r\n`, ...chunksOf(`"${"x".repeat(1_500)}"`, 1), "0\r\n\r\n"],
      `"${"x".repeat(1_500)}"`,
    ],
    ["chunks with trailers", [`${OK}${CHUNKED}\r\n${chunksOf(LONG, 4_096).join("")}${TRAILERS}`], LONG],
    [
      "chunks with an extension",
      [
        `${OK}${CHUNKED}\r\n${chunksOf(LONG, 4_096)
          .join("")
          .replaceAll(/^1000\r/gm, "1000;sum=123\r")}0\r\n\r\n`,
      ],
      LONG,
    ],
  ] as const)(
    "an answer within its limits is taken, and its connection kept: %s",
    async ([, pieces, result], { service, onTestFinished }) => {
      const server = await RawServer.listen((socket) => void sayInTurn(socket, pieces));
      onTestFinished(() => server.close());
      const queue = await service.queue({ callback_url: server.url, defaultJobOptions: { attempts: 1 } });
      for (const payload of [1, 2]) {
        const job = await service.enqueue({ queue, payload });
        await until(async () => ["completed", "failed"].includes((await service.job(job)).state), "the attempt");
        expect(await service.job(job)).toMatchObject({ last_error: null, result: JSON.parse(result) });
      }
      expect(server.connections).toBe(1);
    },
  );
});

describe("an answer just past a limit is none", () => {
  test.for([
    ["a line of a head too many", headOfLines(MOST_LINES + 1, "7"), /headers are too long/],
    ["a byte of a head too many", `${headOfBytes(MOST_BYTES + 1, lengthOf("7"))}7`, /headers are too long/],
    [
      "many chunks, and trailers of more than may be",
      `${OK}${CHUNKED}\r\n${chunksOf(LONG, 60).join("")}0\r\n${`X-A: ${"x".repeat(93)}\r\n`.repeat(40)}\r\n`,
      /trailers are too long/,
    ],
  ] as const)("an answer just past a limit is no answer: %s", async ([, text, message], { service, onTestFinished }) => {
    const server = await RawServer.listen((socket) => socket.write(text));
    onTestFinished(() => server.close());
    const job = await service.enqueue({ queue: await service.queue({ callback_url: server.url, defaultJobOptions: { attempts: 1 } }) });
    await service.untilState(job, "failed");
    expect((await service.job(job)).last_error).toEqual({ code: "CONNECTION", message: expect.stringMatching(message), status: null });
    await until(() => server.left === 1, "the connection to be closed");
  });
});
