import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SOURCE = new URL("../../src/kernel/v8-flags.ts", import.meta.url).href;
const [LITTLE_MIB, AMPLE_MIB] = [512, 2_048];

/** Prints the most memory of the heap in use, in MiB, while objects live for some collections of the young generation and then die. */
const allocating = `
  import { getHeapStatistics } from "node:v8";
  const ring = new Array(600_000);
  let peak = 0;
  for (let index = 0; index < 6_000_000; index += 1) {
    ring[index % ring.length] = { a: [1, 2, 3], b: { c: Math.sqrt(index) } };
    if (index % 20_000 === 0) peak = Math.max(peak, getHeapStatistics().used_heap_size);
  }
  console.log(Math.round(peak / 2 ** 20));`;

/** Prints after how many calls V8's last compiler has optimized a function. */
const calling = `
  const greet = (name) => "Hello " + name + "!";
  let calls = 0;
  for (; !%ActiveTierIsTurbofan(greet) && calls < 1_000_000; calls += 1) greet("Ada");
  console.log(calls);`;

/** What a program prints with the flags for this much memory. With one thread and a clock of its own, V8 does the same each time. */
async function run(program: string, memoryMib: number): Promise<number> {
  const whole = `import { setV8Flags } from ${JSON.stringify(SOURCE)}; setV8Flags(${memoryMib}); ${program}`;
  const args = ["--single-threaded", "--predictable", "--allow-natives-syntax", "--input-type=module", "--eval", whole];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {} });
  return Number(stdout);
}

test("with little memory, garbage is collected before the heap has doubled", async () => {
  const [little, ample] = [await run(allocating, LITTLE_MIB), await run(allocating, AMPLE_MIB)];
  expect(little).toBeLessThan(0.75 * ample);
});

test("with ample memory, a function is optimized after a fraction of the calls that V8 waits for", async () => {
  const [usual, early] = [await run(calling, LITTLE_MIB), await run(calling, AMPLE_MIB)];
  expect(usual).toBeLessThan(1_000_000);
  expect(early).toBeLessThan(usual / 4);
});
