import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type LoopDelays, measureLoopDelay } from "#kernel";

/** A histogram of given delays, which forgets them when it is reset. Milliseconds. */
class Delays implements LoopDelays {
  sorted: number[] = [];
  enabled = false;

  get count(): number {
    return this.sorted.length;
  }

  enable(): void {
    this.enabled = true;
  }

  reset(): void {
    this.sorted = [];
  }

  percentile(percentile: number): number {
    return (this.sorted[Math.ceil((percentile / 100) * this.sorted.length) - 1] ?? Number.NaN) * 1e6;
  }
}

const scrape = async (registry: Registry): Promise<Record<string, number>> => {
  const text = await registry.metrics();
  return Object.fromEntries(
    [...text.matchAll(/^tidemill_event_loop_delay_seconds\{quantile="(.+)"\} (.+)$/gm)].map(([, q, s]) => [q, Number(s)]),
  );
};

test("a scrape shows the delays of the event loop since the one before it, without the interval of the timer", async () => {
  const [registry, delays] = [new Registry(), new Delays()];
  measureLoopDelay(registry, delays);
  await scrape(registry);
  delays.sorted = [...Array.from({ length: 98 }, () => 10), 35, 510];
  expect(await scrape(registry)).toEqual({ 0.5: 0, 0.99: 0.025, 1: 0.5 });
  expect(await scrape(registry)).toEqual({ 0.5: 0, 0.99: 0, 1: 0 });
});

test("a node that nobody scrapes does not measure its event loop", async () => {
  const [registry, delays] = [new Registry(), new Delays()];
  measureLoopDelay(registry, delays);
  expect(delays.enabled).toBe(false);
  expect(await scrape(registry)).toEqual({ 0.5: 0, 0.99: 0, 1: 0 });
  expect(delays.enabled).toBe(true);
});
