import type { LookupAddress } from "node:dns";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { WorkspaceId } from "#kernel";
import { createSystemLookup } from "../../src/outbound/names/system-lookup.ts";

const OURS = "ours" as WorkspaceId;
const OTHER = "other" as WorkspaceId;

/** A system's resolver that answers when the test lets it. */
function hanging() {
  const asked: { name: string; answer: (error: Error | null, addresses: LookupAddress[]) => void }[] = [];
  const lookup = createSystemLookup((name, _options, answer) => void asked.push({ name, answer }));
  return { lookup, asked };
}

test("two names at a time occupy the system's resolver, and workspaces take turns", async () => {
  const { lookup, asked } = hanging();
  for (const name of ["a", "b", "c", "d"]) void lookup(OTHER, name);
  const ours = lookup(OURS, "e");
  await setImmediate();
  expect(asked.map(({ name }) => name)).toEqual(["a", "b"]);
  asked[0]?.answer(null, []);
  asked[1]?.answer(null, []);
  await setImmediate();
  expect(asked.map(({ name }) => name).slice(2)).toContain("e");
  const found = [{ address: "192.0.2.1", family: 4 }];
  asked.find(({ name }) => name === "e")?.answer(null, found);
  expect(await ours).toEqual({ kind: "found", addresses: found });
});

test.for([
  ["ENOTFOUND", "ENOTFOUND"],
  ["EAI_AGAIN", "EAI_AGAIN"],
  ["EAI_FAIL", "ENOTFOUND"],
  ["EINVAL", "ENOTFOUND"],
  ["EMFILE", "LOOKUP_NOT_RUN"],
  ["EAI_MEMORY", "LOOKUP_NOT_RUN"],
] as const)("an error of the system's resolver, %s, is %s", async ([code, expected]) => {
  const { lookup, asked } = hanging();
  const looked = lookup(OURS, "a");
  await setImmediate();
  asked[0]?.answer(Object.assign(new Error("it failed"), { code }), []);
  expect(await looked).toMatchObject({ kind: "failed", error: { code: expected } });
});

test("a name that is too long for the system's resolver is absent", async () => {
  expect(await createSystemLookup()(OURS, "a".repeat(256))).toMatchObject({ kind: "failed", error: { code: "ENOTFOUND" } });
});
