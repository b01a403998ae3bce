import { expect, test } from "vitest";
import { conditionOf } from "../../src/pages/queues/condition.ts";

const queue = (settings: object = {}, metrics: object = {}) =>
  ({
    name: "mails",
    paused: false,
    callback_url: null,
    callbacks_stopped: null,
    metrics: { waiting: 0, pending_approval: 0, ...metrics },
    ...settings,
  }) as never;
const none: ReadonlySet<string> = new Set();

test.each([
  ["taken by workers", queue()],
  ["delivered by callback", queue({ callback_url: "https://example.com" })],
  ["nobody takes these jobs", queue({}, { waiting: 1 })],
  // Somebody has paused it: that its worker is gone, too, is no alarm.
  ["paused", queue({ paused: true }, { waiting: 1 })],
  ["approvals pending", queue({ callback_url: "https://example.com" }, { pending_approval: 1 })],
  ["paused", queue({ paused: true }, { pending_approval: 1 })],
  ["circuit open", queue({ paused: true, circuit: { state: "open" } })],
])("the condition of a queue is %s", (label, given) => {
  expect(conditionOf(given, none).label).toBe(label);
});
