import { expect, test } from "vitest";
import { pickChanges } from "../../src/api/pick-changes.ts";

test.for([
  ["a text that is another one", { name: "a", url: "u" }, { name: "b", url: "u" }, { name: "b" }],
  ["a list that is equal", { hosts: ["one"] }, { hosts: ["one"] }, {}],
  ["a list that has become shorter", { hosts: ["one", "two"] }, { hosts: ["one"] }, { hosts: ["one"] }],
  ["no limit in place of none that is allowed", { hosts: [] }, { hosts: null }, { hosts: null }],
  ["a member that was not there", {}, { headers: {} }, { headers: {} }],
  ["a member that a form does not have", { name: "a", id: "wh_1" }, { name: "a" }, {}],
] as const)("the changes to send: %s", ([, before, after, changes]) => {
  expect(pickChanges<object>(before, after)).toEqual(changes);
});
