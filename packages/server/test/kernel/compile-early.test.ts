import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SOURCE = new URL("../../src/kernel/compile-early.ts", import.meta.url).href;
/** Prints after how many calls V8's last compiler has optimized a function. */
const program = (isEarly: boolean) => `
  import { compileEarly } from ${JSON.stringify(SOURCE)};
  if (${isEarly}) compileEarly();
  const greet = (name) => "Hello " + name + "!";
  let calls = 0;
  for (; !%ActiveTierIsTurbofan(greet) && calls < 1_000_000; calls += 1) greet("Ada");
  console.log(calls);`;

/** With one thread and a clock of its own, V8 compiles at the same moments each time. */
const callsUntilOptimized = async (isEarly: boolean): Promise<number> => {
  const args = ["--single-threaded", "--predictable", "--allow-natives-syntax", "--input-type=module", "--eval", program(isEarly)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {} });
  return Number(stdout);
};

test("a function is optimized after a fraction of the calls that V8 waits for", async () => {
  const [early, usual] = [await callsUntilOptimized(true), await callsUntilOptimized(false)];
  expect(usual).toBeLessThan(1_000_000);
  expect(early).toBeLessThan(usual / 4);
});
