import { expect, test } from "vitest";
import { deliver } from "../../src/engine/deliver.ts";
import { JobKinds } from "../../src/engine/kinds.ts";

test("an attempt that crashes has failed", async () => {
  const told: string[] = [];
  const crashed = () => ({ result: Promise.reject(new Error("unlucky")), abort: () => {} });
  const kinds = new JobKinds([{ name: "run", deliverer: { start: crashed, sweep: () => {} } }] as never);
  const { result } = deliver(kinds, { id: "1", kind: "run" } as never, { tryTake: () => true }, (event) => void told.push(event));
  expect(await result).toEqual({ kind: "unreachable", code: "CONNECTION", message: "The attempt could not be made." });
  expect(told).toEqual(["delivery_crashed"]);
});
