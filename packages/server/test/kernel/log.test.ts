import { beforeEach, expect, test } from "vitest";
import { Events, logEvents, unavailable } from "#kernel";

let lines: Record<string, unknown>[];
let events: Events;
let nowMs: number;

const failed = (code: string) =>
  Object.assign(unavailable("The database is unavailable."), { cause: Object.assign(new Error(code), { code }) });
const failLoop = (loop: string, error: unknown = failed("25006")) => events.emit("loop_failed", { loop, failures: 1, error });

function log(level: string): void {
  events = new Events();
  logEvents(events, level, { write: (line) => void lines.push(JSON.parse(line)) }, () => nowMs);
}

beforeEach(() => {
  [lines, nowMs] = [[], 0];
  log("warn");
});

test("a failure of the database that loops meet again and again is logged once a minute, with the number of lines left out", () => {
  for (; nowMs <= 60_000; nowMs += 10_000) for (const loop of ["lease", "fire", "rescue"]) failLoop(loop);
  expect(lines).toMatchObject([{ loop: "lease" }, { loop: "lease", omitted: 17 }]);
});

test("another cause, another event, and the same cause after it was over are logged", () => {
  failLoop("lease");
  failLoop("lease", failed("53100"));
  events.emit("claim_failed", { error: failed("25006") });
  nowMs = 20_000;
  failLoop("lease");
  expect(lines.map(({ msg }) => msg)).toEqual(["loop_failed", "loop_failed", "claim_failed", "loop_failed"]);
});

test("what took too long in one loop hides nothing of others, and what is counted is not counted again", () => {
  for (let round = 0; round < 3; round += 1)
    for (const loop of ["slow", "schedules"]) {
      failLoop(loop, failed("57014"));
      events.emit("requests_refused_by_database", { count: 100, error: failed("53100") });
    }
  expect(lines).toHaveLength(12);
});

test("failures that are not the database's, and those at level debug, are all logged", () => {
  for (const loop of ["lease", "fire"]) failLoop(loop, new TypeError("a fault"));
  log("debug");
  for (const loop of ["lease", "fire"]) failLoop(loop);
  expect(lines).toHaveLength(4);
});
