import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { HTTP_ERRORS } from "#http";
import { createMetrics, type EmitEvent, EVENTS, type EventName, Events, LOOP_DELAY, SHARE_GAUGES } from "#kernel";
import { SERVICE_GAUGES } from "#metrics";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const NAMES = Object.keys(EVENTS) as EventName[];
const MOVED_BY_EVENTS = Object.values(EVENTS).flatMap(({ metrics }) => metrics.map(({ name }: { name: string }) => name));
const OF_SERVICE = Object.values(SERVICE_GAUGES).map(({ name }) => name);
const OF_NODE = [HTTP_ERRORS.name, LOOP_DELAY.name, ...Object.values(SHARE_GAUGES).map(({ name }) => name)];
const METRICS = [...OF_SERVICE, ...MOVED_BY_EVENTS, ...OF_NODE];

const read = (file: string) => readFile(path.join(ROOT, file), "utf8");

/** The event names in calls of `emit` in the server's sources. A call that chooses between two counts for both. */
async function emittedNames(): Promise<Set<string>> {
  const sources = await readdir(path.join(ROOT, "packages/server/src"), { recursive: true });
  const texts = await Promise.all(sources.filter((file) => file.endsWith(".ts")).map((file) => read(`packages/server/src/${file}`)));
  const calls = texts.flatMap((text) => [...text.matchAll(/(?<!(?:server|socket)\.)\bemit\(([^,)]*)/g)].map(([, event]) => event ?? ""));
  return new Set(calls.flatMap((event) => [...event.matchAll(/"(\w+)"/g)].map(([, name]) => name ?? "")));
}

/** The rows of the table that is generated under a name, as lists of cells without the quotes of code. */
async function tableOf(part: string): Promise<string[][]> {
  const [, rest = ""] = (await read("docs/operations.md")).split(`<!-- written: ${part} -->`);
  const [, , ...rows] = (rest.split("<!-- end -->")[0] ?? "").trim().split("\n");
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll("`", "")),
  );
}

async function pages(): Promise<string> {
  const files = await readdir(path.join(ROOT, "docs"), { recursive: true });
  const pages = files.filter((file) => file.endsWith(".md")).map((file) => `docs/${file}`);
  return (await Promise.all([...pages, "README.md"].map(read))).join("\n");
}

describe("the catalogue of events", () => {
  test("the catalogue of events has every event that the code emits, and no other", async () => {
    expect([...(await emittedNames())].toSorted()).toEqual(NAMES.toSorted());
  });

  test("the catalogue of events names facts, in the past tense", () => {
    const past = /(^|_)([a-z]+ed|began|died|found|given|left|lost|made|ran|sent|split|written)(_|$)/;
    expect(NAMES.filter((name) => !past.test(name))).toEqual([]);
  });

  test("the catalogue of events says of each event what it means, in a sentence", () => {
    expect(NAMES.filter((name) => !/^[A-Z`].*\.$/.test(EVENTS[name].meaning))).toEqual([]);
  });

  test("the catalogue of events is in the docs, events with severity and fields, metrics with the event that moves them", async () => {
    const events = await tableOf("events");
    expect(events.map(([name, severity]) => [name, severity])).toEqual(NAMES.map((name) => [name, EVENTS[name].severity]));
    for (const [name, , , fields = ""] of events) {
      for (const field of Object.keys(EVENTS[name as EventName].fields)) expect(fields.split(/\W+/)).toContain(field);
    }
    const metrics = await tableOf("metrics");
    expect(metrics.map(([name]) => name)).toEqual(METRICS);
    for (const [name, , , , event] of metrics.slice(OF_SERVICE.length, -OF_NODE.length)) {
      const moved: readonly { name: string }[] = EVENTS[event as EventName].metrics;
      expect(moved.map((metric) => metric.name)).toContain(name);
    }
  });

  test("the catalogue of events has every metric and every log line that the prose of the docs names", async () => {
    const text = await pages();
    const metrics = [...text.matchAll(/`(tidemill_\w+?_(?:total|seconds|flight))\b/g)].map(([, name]) => name);
    expect(metrics.filter((name) => !METRICS.includes(name ?? ""))).toEqual([]);
    const lines = [...text.matchAll(/\b(?:log|logs|log says|log\s+has)\s+`(\w+)`(?: and `(\w+)`)?/g)].flatMap(([, ...names]) => names);
    const named = lines.filter((name) => name !== undefined);
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !Object.hasOwn(EVENTS, name))).toEqual([]);
  });
});

describe("emit", () => {
  test("emit gives the log and the metrics an event with its fields and its severity", () => {
    const events = new Events();
    const seen: unknown[] = [];
    events.subscribe((...emitted) => seen.push(emitted));
    events.emit("circuit_opened", { workspaceId: "w", laneId: 7 });
    events.emit("node_stopped", {});
    expect(seen).toEqual([
      ["circuit_opened", { workspaceId: "w", laneId: 7 }, "warn"],
      ["node_stopped", {}, "info"],
    ]);
  });

  test("emit takes only events of the catalogue, with their fields: others do not compile", () => {
    const refused: ((emit: EmitEvent) => void)[] = [
      // @ts-expect-error: no such event
      (emit) => emit("jobs_enqueue", { count: 1 }),
      // @ts-expect-error: a field is missing
      (emit) => emit("jobs_enqueued", {}),
      // @ts-expect-error: a field of another type
      (emit) => emit("jobs_enqueued", { count: "1" }),
      // @ts-expect-error: a field that the event does not have
      (emit) => emit("jobs_enqueued", { count: 1, more: 2 }),
      // @ts-expect-error: fields of an event without any
      (emit) => emit("node_stopped", { count: 1 }),
      // @ts-expect-error: a value that the field does not take
      (emit) => emit("jobs_decided", { decision: "postponed", by: "caller", count: 1 }),
    ];
    const accepted: ((emit: EmitEvent) => void)[] = [
      (emit) => emit("request_refused", { requestId: "r", error: new Error("x") }),
      (emit) => emit("request_refused", { requestId: "r", method: null, error: new Error("x") }),
      (emit) => emit("jobs_decided", { decision: "approved", by: "timeout", count: 2 }),
    ];
    const names: string[] = [];
    for (const call of [...refused, ...accepted]) call((name) => names.push(name));
    expect(names).toHaveLength(refused.length + accepted.length);
  });
});

describe("metrics", () => {
  /** The values of a metric, by label. */
  async function valuesOf(events: (emit: EmitEvent) => void, name: string) {
    const source = new Events();
    const registry = createMetrics(source);
    events(source.emit);
    const metric = (await registry.getMetricsAsJSON()).find((one) => one.name === name);
    const values: { labels: object; value: number; metricName?: string }[] = metric?.values ?? [];
    return values.map(({ labels, value, metricName = name }) => ({ name: metricName, labels, value }));
  }

  test("metrics are those of the catalogue", () => {
    expect(
      createMetrics(new Events())
        .getMetricsAsArray()
        .map(({ name }) => name),
    ).toEqual(MOVED_BY_EVENTS);
  });

  test("metrics count events, or what a field of them says", async () => {
    const twice = (emit: EmitEvent) => {
      emit("jobs_enqueued", { count: 3 });
      emit("jobs_enqueued", { count: 4 });
    };
    expect(await valuesOf(twice, "tidemill_jobs_enqueued_total")).toEqual([expect.objectContaining({ value: 7 })]);
    const opened = (emit: EmitEvent) => emit("circuit_opened", { workspaceId: "w", laneId: 1 });
    expect(await valuesOf(opened, "tidemill_circuits_opened_total")).toEqual([expect.objectContaining({ value: 1 })]);
  });

  test("metrics count by labels", async () => {
    const decided = (emit: EmitEvent) => {
      emit("jobs_decided", { decision: "approved", by: "caller", count: 1 });
      emit("jobs_decided", { decision: "rejected", by: "timeout", count: 5 });
      emit("jobs_decided", { decision: "approved", by: "caller", count: 1 });
    };
    const name = "tidemill_approvals_decided_total";
    expect(await valuesOf(decided, name)).toEqual([
      { name, labels: { decision: "approved", by: "caller" }, value: 2 },
      { name, labels: { decision: "rejected", by: "timeout" }, value: 5 },
    ]);
  });

  test("metrics show the last value, and observe seconds of milliseconds", async () => {
    const ended = (emit: EmitEvent) => {
      const attempt = { jobId: "j", attempt: 1, outcome: "complete" } as const;
      emit("attempt_ended", { ...attempt, tookMs: 3, inFlight: 9 });
      emit("attempt_ended", { ...attempt, tookMs: 1_500, inFlight: 8 });
    };
    expect(await valuesOf(ended, "tidemill_callbacks_in_flight")).toEqual([expect.objectContaining({ value: 8 })]);
    const name = "tidemill_callback_duration_seconds";
    const observed = await valuesOf(ended, name);
    expect(observed).toContainEqual({ name: `${name}_sum`, labels: {}, value: 1.503 });
    expect(observed).toContainEqual({ name: `${name}_bucket`, labels: { le: 0.0025 }, value: 0 });
    expect(observed).toContainEqual({ name: `${name}_bucket`, labels: { le: 0.005 }, value: 1 });
    expect(observed).toContainEqual({ name: `${name}_bucket`, labels: { le: 2.5 }, value: 2 });
  });
});
