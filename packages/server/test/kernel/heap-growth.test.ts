import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SOURCE = new URL("../../src/kernel/heap-growth.ts", import.meta.url).href;
/** Prints the most memory of the heap in use, in MiB, while objects live for some collections of the young generation and then die. */
const program = (memoryMib: number) => `
  import { getHeapStatistics } from "node:v8";
  import { limitHeapGrowth } from ${JSON.stringify(SOURCE)};
  limitHeapGrowth(${memoryMib});
  const ring = new Array(600_000);
  let peak = 0;
  for (let index = 0; index < 6_000_000; index += 1) {
    ring[index % ring.length] = { a: [1, 2, 3], b: { c: Math.sqrt(index) } };
    if (index % 20_000 === 0) peak = Math.max(peak, getHeapStatistics().used_heap_size);
  }
  console.log(Math.round(peak / 2 ** 20));`;

/** With one thread and a clock of its own, V8 collects at the same moments each time. */
const peakMib = async (memoryMib: number): Promise<number> => {
  const args = ["--single-threaded", "--predictable", "--input-type=module", "--eval", program(memoryMib)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {} });
  return Number(stdout);
};

test("with little memory, garbage is collected before the heap has doubled", async () => {
  const [little, ample] = [await peakMib(512), await peakMib(2_048)];
  expect(little).toBeLessThan(0.75 * ample);
});
