import { expect, test } from "vitest";
import { deliver } from "../../src/engine/deliver.ts";
import { JobKinds } from "../../src/engine/kinds.ts";

test.for([
  ["may be repeated", undefined],
  ["may have its effect once only fails for good", true],
] as const)("an attempt that crashes of a kind that %s", async ([, once]) => {
  const told: string[] = [];
  const crashed = () => ({ result: Promise.reject(new Error("unlucky")), abort: () => {} });
  const kinds = new JobKinds([{ name: "run", once, deliverer: { start: crashed, sweep: () => {} } }] as never);
  const { result } = deliver(kinds, { id: "1", kind: "run" } as never, (event) => void told.push(event));
  expect(await result).toEqual({
    kind: "unreachable",
    code: "CONNECTION",
    message: "The attempt could not be made.",
    ...(once && { once }),
  });
  expect(told).toEqual(["delivery_crashed"]);
});
