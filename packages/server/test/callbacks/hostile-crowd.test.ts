import type { Socket } from "node:net";
import { describe, expect } from "vitest";
import { testWith } from "../harness/nodes.ts";
import { RawServer } from "../harness/raw-server.ts";
import { until } from "../harness/service.ts";

const MOST_AT_ONCE = 300;
/** A queue alone has half of the node's slots. */
const test = testWith({ TIDEMILL_CALLBACKS_IN_FLIGHT: String(2 * MOST_AT_ONCE) });

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
/** The memory that the process may use, including garbage and this test's server. For 300 callbacks, reads of 64 KiB alone are 20 MB. */
const MOST_BYTES = 100e6;

const peakBytes = () => process.resourceUsage().maxRSS * 1024;

describe.for([50, MOST_AT_ONCE])("%i that answer at the same moment in the smallest pieces take little memory", (atOnce) => {
  test.for([
    ["headers", `${OK}${"a:\r\n".repeat(16_000)}`],
    ["headers and an end", `${OK}${"a:\r\n".repeat(3_500)}\r\n`],
    ["chunks", `${CHUNKED}${"1\r\nx\r\n".repeat(10_000)}`],
    ["trailers", `${CHUNKED}1\r\nx\r\n0\r\n${"a:\r\n".repeat(16_000)}`],
  ] as const)(
    "many handlers that answer at the same moment in the smallest pieces take little memory: %s",
    async ([, text], { service, onTestFinished }) => {
      const sockets: Socket[] = [];
      const server = await RawServer.listen((socket) => sockets.push(socket));
      onTestFinished(() => server.close());
      const queue = await service.queue({ callback_url: server.url, callback_timeout: 900, defaultJobOptions: { attempts: 1 } });
      await service.ok(
        "POST",
        `/v1/queues/${queue}/jobs/batch`,
        Array.from({ length: atOnce }, (_, payload) => ({ payload })),
      );
      await until(() => sockets.length === atOnce, "the attempts");
      const before = peakBytes();
      for (const socket of sockets) socket.write(text);
      await until(() => server.left === atOnce, "the connections to be closed");
      expect(peakBytes() - before).toBeLessThan(MOST_BYTES);
    },
  );
});
