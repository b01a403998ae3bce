import { once } from "node:events";
import net from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { setStallTolerantTimeout } from "../../src/kernel/stall-tolerant-timeout.ts";
import { stall } from "../harness/stall.ts";

/** Both ends of a connection. */
async function connection(): Promise<{ near: net.Socket; far: net.Socket }> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [net.Socket];
  await once(near, "connect");
  onTestFinished(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { near, far };
}

describe("a patient timeout", () => {
  test("a patient timeout lets what arrived while the event loop was stalled come first", async () => {
    const { near, far } = await connection();
    const seen: string[] = [];
    near.once("data", () => seen.push("data"));
    const over = new Promise<void>((resolve) => {
      setTimeout(() => seen.push("timeout"), 50);
      setStallTolerantTimeout(() => {
        seen.push("patient timeout");
        resolve();
      }, 50);
    });
    far.write("x");
    stall(150);
    await over;
    expect(seen).toEqual(["timeout", "data", "patient timeout"]);
  });

  test.for([
    { name: "whose time was over before", ms: -2_000, latestMs: undefined },
    { name: "that is later than it may be", ms: 10, latestMs: 20 },
  ])("a patient timeout $name does not wait once more", async ({ ms, latestMs }) => {
    const seen: string[] = [];
    const over = new Promise<void>((resolve) => {
      setStallTolerantTimeout(
        () => {
          seen.push("patient timeout");
          resolve();
        },
        ms,
        latestMs,
      );
    });
    if (latestMs !== undefined) stall(100);
    setTimeout(() => seen.push("timeout"), 30);
    await over;
    expect(seen).toEqual(["patient timeout"]);
  });

  test("a patient timeout that was cleared does nothing, also when it was late", async () => {
    const seen: string[] = [];
    const cleared = setStallTolerantTimeout(() => seen.push("cleared"), 10);
    const over = new Promise<void>((resolve) => {
      // Comes when the others are late, and wait once more.
      setTimeout(() => cleared.clear(), 20);
      setStallTolerantTimeout(() => {
        seen.push("other");
        resolve();
      }, 10);
    });
    stall(100);
    await over;
    expect(seen).toEqual(["other"]);
  });
});
