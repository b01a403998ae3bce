import { describe, expect, onTestFinished, test } from "vitest";
import { Deadline } from "../src/deadline.ts";
import { HeldLeases, type Lease } from "../src/worker/held-leases.ts";
import { LeaseKeeper } from "../src/worker/lease-keeper.ts";
import { LeaseWatch } from "../src/worker/lease-watch.ts";

/** Holds the event loop. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const LEASE: Lease = { id: "job_1", lease_token: "token" };
const hold = (endsMs: number): HeldLeases => {
  const held = new HeldLeases();
  held.add(LEASE, endsMs, () => new Error("It is lost."));
  return held;
};
const elapsedMs = () => performance.now();

describe("after the process stood still", () => {
  test("a lease that was extended meanwhile has not ended", async () => {
    const held = hold(elapsedMs() + 50);
    const ended: string[] = [];
    const watch = new LeaseWatch(held, elapsedMs, ({ id }) => ended.push(id));
    onTestFinished(() => watch.stop());
    watch.expect(elapsedMs() + 50);
    // Comes behind the timer, as what has arrived in sockets does.
    setImmediate(() => held.extend(LEASE, elapsedMs() + 60_000));
    standStill(150);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(ended).toEqual([]);
  });

  test("a call whose response arrived meanwhile is not aborted", async () => {
    const deadline = new Deadline(50, undefined);
    setImmediate(() => deadline.end());
    standStill(150);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([deadline.passed, deadline.signal.aborted]).toEqual([false, false]);
  });

  test.for([
    { left: "most of their time", endsInMs: 29_000, waitSeconds: 7 },
    { left: "less than half of their time", endsInMs: 14_000, waitSeconds: 0 },
  ])(
    "an extension of leases that have $left left waits for something to be cancelled: $waitSeconds s",
    async ({ endsInMs, waitSeconds }) => {
      const held = hold(elapsedMs() + endsInMs);
      const waited: number[] = [];
      const keeper = new LeaseKeeper({
        held,
        leaseSeconds: 30,
        elapsedMs,
        extend: async (leases, seconds) => {
          waited.push(seconds);
          for (const { id } of leases) held.lose(id, "cancelled");
          return { response: { leases: [], cancelled: [] }, endsMs: 0 };
        },
        onError: (error) => expect.fail(String(error)),
      });
      onTestFinished(() => keeper.stop());
      await keeper.start();
      expect(waited).toEqual([waitSeconds]);
    },
  );
});
