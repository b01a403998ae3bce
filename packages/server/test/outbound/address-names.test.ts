import type { LookupAddress } from "node:dns";
import { describe, expect } from "vitest";
import type { Resolve } from "#outbound";
import { type Canary, test } from "../harness/canary.ts";

/** A name server that returns these results in turn, one for each lookup, and then starts again. */
class Rebinding {
  asked = 0;
  readonly #answers: readonly (readonly string[])[];

  constructor(...answers: (readonly string[])[]) {
    this.#answers = answers;
  }

  readonly resolve: Resolve = (_hostname, _options, callback) => {
    const answer = this.#answers[this.asked % this.#answers.length] ?? [];
    this.asked += 1;
    const addresses = answer.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }));
    queueMicrotask(() => callback(null, addresses));
  };
}

const TRIES = 60;
/** The one address of the machine that may be reached in these tests. */
const OPEN = "127.0.0.2";
const urlsOf = (name: string, { port }: Canary, count = 1) => Array.from({ length: count }, () => new URL(`http://${name}:${port}/`));

describe("a name", () => {
  test.for([
    [["127.0.0.1"]],
    [["::1"]],
    [["0.0.0.0"]],
    [["::"]],
    [["::ffff:127.0.0.1"]],
    [["::1%lo"]],
    [[OPEN, "127.0.0.1"]],
    [["127.0.0.1", OPEN]],
    [[OPEN, "::1"]],
    [[OPEN, OPEN, "127.0.0.3"]],
  ])("a name that leads to %j is not connected to", async ([addresses = []], { canary, callerWith }) => {
    const { resolve } = new Rebinding(addresses);
    expect(await callerWith([OPEN], resolve).callAll(urlsOf("rebinding.example", canary))).toEqual(["BLOCKED_ADDRESS"]);
    expect(canary.reached).toEqual([]);
  });

  test("a name that changes its address with each look-up is connected to where it may be, and nowhere else", async ({
    canary,
    callerWith,
  }) => {
    const names = new Rebinding([OPEN], ["127.0.0.1"], [OPEN, "127.0.0.1"]);
    const ends = await callerWith([OPEN], names.resolve).callAll(urlsOf("rebinding.example", canary, TRIES));
    expect(ends).toEqual(ends.map((_, n) => (n % 3 === 0 ? 200 : "BLOCKED_ADDRESS")));
    expect([names.asked, canary.reached]).toEqual([TRIES, Array.from({ length: TRIES / 3 }, () => OPEN)]);
  });

  test("a name that changes its address is not connected to elsewhere by many callbacks at once, either", async ({
    canary,
    callerWith,
  }) => {
    const caller = callerWith([OPEN], new Rebinding([OPEN], ["127.0.0.1"]).resolve);
    const ends = new Set<unknown>();
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(urlsOf("rebinding.example", canary, TRIES).map((url) => caller.call(url)));
      for (const end of answers) ends.add(end);
    }
    expect(ends).toEqual(new Set([200, "BLOCKED_ADDRESS"]));
    expect(new Set(canary.reached)).toEqual(new Set([OPEN]));
  });

  test.for(["localhost", "x.localhost", "metadata.google.internal"])(
    "a name like %s is not even looked up",
    async (name, { canary, callerWith }) => {
      const names = new Rebinding([OPEN]);
      const ends = await callerWith([OPEN], names.resolve).callAll(urlsOf(name, canary));
      expect([ends, names.asked, canary.reached]).toEqual([["BLOCKED_ADDRESS"], 0, []]);
    },
  );
});
