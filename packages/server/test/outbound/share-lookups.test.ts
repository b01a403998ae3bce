import type { LookupAddress } from "node:dns";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createAddressGuard, type Response, Sender } from "#outbound";
import { type Resolve, shareLookups } from "../../src/outbound/share-lookups.ts";

/** A name server that responds when a test lets it. */
class Hanging {
  readonly asked: { hostname: string; answer: (error: Error | null, addresses: LookupAddress[]) => void }[] = [];
  readonly resolve: Resolve = (hostname, _options, answer) => void this.asked.push({ hostname, answer });
}

const ALL = { all: true } as const;
const HERE: LookupAddress[] = [{ address: "127.0.0.1", family: 4 }];

test("look-ups of a name that come while one is under way share it, and its answer", () => {
  const server = new Hanging();
  const resolve = shareLookups(server.resolve);
  const answers: unknown[] = [];
  for (const name of ["a.example", "a.example", "b.example", "a.example"]) {
    resolve(name, ALL, (error, addresses) => answers.push([name, error, addresses]));
  }
  expect(server.asked.map(({ hostname }) => hostname)).toEqual(["a.example", "b.example"]);
  server.asked[0]?.answer(null, HERE);
  expect(answers).toEqual(["a.example", "a.example", "a.example"].map((name) => [name, null, HERE]));
});

test("a failure is shared as well", () => {
  const server = new Hanging();
  const resolve = shareLookups(server.resolve);
  const errors: unknown[] = [];
  resolve("a.example", ALL, (error) => errors.push(error));
  resolve("a.example", ALL, (error) => errors.push(error));
  const error = new Error("no such name");
  server.asked[0]?.answer(error, []);
  expect(errors).toEqual([error, error]);
});

test("an answer is not remembered: the next caller asks again, from within the answer too", () => {
  const server = new Hanging();
  const resolve = shareLookups(server.resolve);
  resolve("a.example", ALL, () => resolve("a.example", ALL, () => {}));
  server.asked[0]?.answer(null, HERE);
  expect(server.asked).toHaveLength(2);
  server.asked[1]?.answer(null, HERE);
  resolve("a.example", ALL, () => {});
  expect(server.asked).toHaveLength(3);
});

test("look-ups that want other families do not share", () => {
  const server = new Hanging();
  const resolve = shareLookups(server.resolve);
  for (const family of [0, 4, 6, 4]) resolve("a.example", { ...ALL, family }, () => {});
  expect(server.asked).toHaveLength(3);
});

test("callbacks to a name whose server hangs hold one look-up between them, and can be aborted; other names go on", async ({
  onTestFinished,
}) => {
  const server = new Hanging();
  const sender = new Sender(createAddressGuard({ allowLoopback: true, allowed: [] }, server.resolve));
  onTestFinished(() => sender.close());
  const responses: Response[] = [];
  const send = (origin: string) =>
    sender.send({ origin, path: "/", headers: {}, body: Buffer.from("{}"), maxBodyBytes: 0 }, (response) => responses.push(response));
  const aborts = Array.from({ length: 50 }, () => send("http://hanging.example/"));
  send("http://other.example/");
  await setImmediate();
  expect(server.asked.map(({ hostname }) => hostname)).toEqual(["hanging.example", "other.example"]);
  const reason = new Error("too late");
  for (const abort of aborts) abort(reason);
  expect(responses).toEqual(aborts.map(() => ({ kind: "failed", error: reason })));
});
