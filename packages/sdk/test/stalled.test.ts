import { describe, expect, onTestFinished, test } from "vitest";
import { stall } from "../../server/test/harness/stall.ts";
import { Deadline } from "../src/deadline.ts";
import { HeldLeases, type Lease } from "../src/worker/held-leases.ts";
import { LeaseKeeper } from "../src/worker/lease-keeper.ts";
import { LeaseWatch } from "../src/worker/lease-watch.ts";

const LEASE: Lease = { id: "job_1", lease_token: "token" };
const OTHER: Lease = { id: "job_2", lease_token: "token" };
const hold = (endsMs: number, ...leases: Lease[]): HeldLeases => {
  const held = new HeldLeases();
  for (const lease of leases) held.add(lease, endsMs, () => new Error("It is lost."));
  return held;
};
const elapsedMs = () => performance.now();

describe("after the process was stalled", () => {
  test("a lease that was extended meanwhile has not ended", async () => {
    const endsMs = elapsedMs() + 50;
    const held = hold(endsMs, LEASE, OTHER);
    const ended: string[] = [];
    const other = Promise.withResolvers<void>();
    const watch = new LeaseWatch(held, elapsedMs, ({ id }) => {
      ended.push(id);
      if (id === OTHER.id) other.resolve();
    });
    onTestFinished(() => watch.stop());
    watch.expect(endsMs);
    // Comes behind the timer of the watch, as what has arrived in sockets does.
    setTimeout(() => held.extend(LEASE, elapsedMs() + 60_000), 80);
    stall(200);
    await other.promise;
    expect(ended).toEqual([OTHER.id]);
  });

  test("a call whose response arrived meanwhile is not aborted", async () => {
    const deadline = new Deadline(50, undefined);
    const other = Promise.withResolvers<void>();
    new Deadline(50, undefined).onAbort(other.resolve);
    setTimeout(() => deadline.end(), 80);
    stall(200);
    await other.promise;
    expect([deadline.passed, deadline.signal.aborted]).toEqual([false, false]);
  });

  test.for([
    { left: "most of their time", endsInMs: 29_000, waitSeconds: 7 },
    { left: "less than half of their time", endsInMs: 14_000, waitSeconds: 0 },
  ])(
    "an extension of leases that have $left left waits for something to be cancelled: $waitSeconds s",
    async ({ endsInMs, waitSeconds }) => {
      const held = hold(elapsedMs() + endsInMs, LEASE);
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
