import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { RunProtocolSchema } from "../harness/run-protocol.ts";
import { type Service, test } from "../harness/service.ts";
import { type CallVector, readVectors } from "../harness/vectors.ts";

const { messages, conversations } = readVectors("run-protocol");
const schema = new RunProtocolSchema();

describe("the JSON Schema of the run protocol", () => {
  test.for(messages)("$schema: $name", ({ schema: name, value, valid }) => {
    expect(schema.faultsOf(name, value).length === 0).toBe(valid);
  });
});

/** The calls, executions and hooks that the page shows, by their lines of JSON. */
function examplesOf(page: string): { readonly method: string; readonly path: string; readonly body: unknown }[] {
  const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^( *)```json\n(?: *([A-Z]+) (\/\S+)\n)?([\s\S]*?)^ *```/gm)].map(([, , method = "", path = "", json = ""]) => ({
    method,
    path,
    body: JSON.parse(json.replaceAll('"…"', '"1f-3a-1-token"')),
  }));
}

const schemaOf = (body: object): string => ("outcome" in body ? "ExecutionOutcome" : "hook" in body ? "TakenHook" : "TakenRun");

test("the examples of docs/run-protocol.md fit the schema", () => {
  const examples = examplesOf("run-protocol.md");
  expect(examples.length).toBeGreaterThan(7);
  for (const { method, path, body } of examples) {
    const faults = method === "" ? schema.faultsOf(schemaOf(body as object), body) : schema.faultsOfRequest(method, path, body);
    expect([path, faults]).toEqual([path, []]);
  }
});

/** Puts what was kept in place of its names. */
const fill = <T>(value: T, kept: ReadonlyMap<string, unknown>): T =>
  JSON.parse(
    JSON.stringify(value).replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
      if (!kept.has(name)) throw new Error(`No call has kept "${name}".`);
      return String(kept.get(name));
    }),
  ) as T;

const pointed = (value: unknown, pointer: string): unknown =>
  pointer
    .split("/")
    .slice(1)
    .reduce((at: unknown, name) => (at as Record<string, unknown>)[name], value);

/** Makes a call, and compares its response. */
async function converse(service: Service, call: CallVector, kept: Map<string, unknown>): Promise<void> {
  const { method, path, body, status, response } = fill({ response: {}, ...call }, kept);
  const reply = await service.api(method, path, body === undefined ? undefined : JSON.stringify(body));
  expect({ path, status: reply.status, body: reply.body }).toMatchObject({ path, status, body: response });
  expect(schema.faultsOfCall(method, path, body, reply.status, reply.body) ?? []).toEqual([]);
  for (const [name, pointer] of Object.entries(call.keep ?? {})) kept.set(name, pointed(reply.body, pointer));
}

describe("the service follows the conversations of the run protocol", () => {
  test.for(conversations)("$name", async ({ calls }, { service }) => {
    const kept = new Map<string, unknown>();
    for (const call of calls) {
      if ("advanceSeconds" in call) await service.advance(call.advanceSeconds);
      else await converse(service, call, kept);
    }
  });
});
