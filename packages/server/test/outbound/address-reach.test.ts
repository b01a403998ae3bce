import { networkInterfaces } from "node:os";
import { describe, expect } from "vitest";
import { createAddressGuard } from "#outbound";
import { test } from "../harness/canary.ts";
import { hostileUrls } from "./address-corpus.ts";

/** The hostile URLs that an HTTP client would follow. */
const followable = (port: number): URL[] =>
  hostileUrls(port)
    .map((text) => URL.parse(text))
    .filter((url) => url !== null)
    .filter(({ protocol, hostname }) => /^https?:$/.test(protocol) && hostname !== "");

/** Whether a URL leads to this machine, at the canary's port. */
const isHere =
  (canary: number) =>
  ({ protocol, hostname, port }: URL) =>
    protocol === "http:" &&
    port === String(canary) &&
    /^(127(\.\d+){3}|0\.0\.0\.0|\[::ffff:7f00:1\]|\[::ffff:0:0\]|localhost)$/.test(hostname);

const withEnds = (urls: readonly URL[], ends: readonly unknown[]) => urls.map(({ href }, at) => [href, ends[at]]);

describe("of over 200 spellings of refused addresses that got past every other check", () => {
  test("none of over 200 spellings of refused addresses that got past every other check makes a connection", async ({
    canary,
    callerWith,
  }) => {
    const urls = followable(canary.port);
    const guard = createAddressGuard({ allowLoopback: false, allowed: [] });
    const caller = callerWith([]);
    const open = async (some: URL[]) => withEnds(some, await caller.callAll(some)).filter(([, end]) => end !== "BLOCKED_ADDRESS");
    // In this order, a broken guard is found before anything leaves the machine.
    expect(urls.filter(({ hostname }) => !guard.refusesHost(hostname))).toEqual([]);
    expect(await open(urls.filter(isHere(canary.port)))).toEqual([]);
    expect(await open(urls)).toEqual([]);
    expect([urls.length > 200, canary.reached]).toEqual([true, []]);
  });

  test("the spellings of this machine's addresses make a connection once these are opened", async ({ canary, callerWith }) => {
    const urls = followable(canary.port).filter(isHere(canary.port));
    const ends = withEnds(urls, await callerWith(["127.0.0.0/8", "0.0.0.0"]).callAll(urls));
    expect(ends.filter(([, end]) => end !== 200)).toEqual([]);
    expect([urls.length > 50, canary.reached.length]).toEqual([true, urls.length]);
  });
});

test("none of the machine's own addresses that are refused is reached", async ({ canary, callerWith }) => {
  const guard = createAddressGuard({ allowLoopback: false, allowed: [] });
  const urls = Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ address }) => !guard.allows(address))
    .map(({ address, family }) => new URL(`http://${family === "IPv6" ? `[${address}]` : address}:${canary.port}/`));
  expect(await callerWith([]).callAll(urls)).toEqual(urls.map(() => "BLOCKED_ADDRESS"));
  expect(canary.reached).toEqual([]);
});

describe("an address that the operator opened is reached, and no other", () => {
  test.for([
    ["127.0.0.2/32", "127.0.0.2", ["127.0.0.1", "127.0.0.3", "[::1]"]],
    ["127.0.0.4/30", "127.0.0.7", ["127.0.0.3", "127.0.0.8", "[::ffff:127.0.0.1]"]],
    ["127.0.0.2", "[::ffff:127.0.0.2]", ["[::ffff:127.0.0.1]", "127.0.0.1"]],
    ["::1", "[::1]", ["127.0.0.1", "[::]", "[::ffff:127.0.0.1]"]],
    ["::/127", "[::1]", ["127.0.0.1", "[::ffff:127.0.0.1]"]],
  ] as const)(
    "an address that the operator opened is reached, and no other: %s",
    async ([opened, reached, refused], { canary, callerWith }) => {
      const urls = [reached, ...refused].map((host) => new URL(`http://${host}:${canary.port}/`));
      expect(await callerWith([opened]).callAll(urls)).toEqual([200, ...refused.map(() => "BLOCKED_ADDRESS")]);
      expect(canary.reached).toHaveLength(1);
    },
  );
});
