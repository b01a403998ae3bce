import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { typesOf } from "../../../../scripts/openapi-types/generate.ts";
import type { Operation } from "../harness/api-doc.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const document = JSON.parse(await readFile(path.join(ROOT, "openapi.json"), "utf8"));
const types = await typesOf(document);

/** The compiler's messages for a client that uses the types, line by line. */
async function compile(client: string): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "tidemill-client-"));
  try {
    await writeFile(path.join(folder, "tidemill.ts"), types);
    await writeFile(path.join(folder, "client.ts"), client);
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--allowImportingTsExtensions", "--pretty", "false", "client.ts"];
    return await new Promise((resolve) => {
      execFile(process.execPath, [path.join(ROOT, "node_modules/typescript/bin/tsc"), ...options], { cwd: folder }, (_error, stdout) =>
        resolve(stdout.split("\n").filter((line) => line !== "")),
      );
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The lines of one member of the generated types, found by their indentation. */
function memberOf(name: string, indentation: number): string {
  const indent = " ".repeat(indentation);
  const [, member] = new RegExp(`^${indent}${name}: \\{\n([^]*?)^${indent}\\};`, "m").exec(types) ?? [];
  if (member === undefined) throw new Error(`The types have no ${name}.`);
  return member;
}

describe("the types that openapi-typescript makes of openapi.json", () => {
  test("name every schema of the document", () => {
    const schemas = memberOf("schemas", 4);
    const names = Object.keys(document.components.schemas);
    expect(names).toEqual(expect.arrayContaining(["Job", "Queue", "Schedule", "Secret", "Key", "AuditEvent", "Explanation", "Problem"]));
    expect(names.filter((name) => !new RegExp(`^ {8}${name}: `, "m").test(schemas))).toEqual([]);
  });

  test("refer to named types in every body that an operation takes and answers", () => {
    const operations = Object.values(document.paths as Record<string, Record<string, Operation & { operationId: string }>>).flatMap((one) =>
      Object.values(one),
    );
    for (const { operationId, requestBody, responses } of operations) {
      const bodies = [requestBody, ...Object.values(responses)].flatMap((one) => Object.values(one?.content ?? {}));
      const named = bodies.map(({ schema }) => `components["schemas"]["${schema.$ref.split("/").at(-1)}"]`);
      const generated = memberOf(operationId, 4);
      expect([operationId, [...generated.matchAll(/"(?:application\/json|text\/event-stream)": (.+);/g)].map(([, type]) => type)]).toEqual([
        operationId,
        named,
      ]);
      const errors = Object.keys(responses).filter((status) => status >= "400");
      for (const status of errors) expect(generated).toMatch(new RegExp(`^ {12}${status}: components\\["responses"\\]`, "m"));
    }
  });

  test("compile, and let a client use what the API has and nothing else", async () => {
    const client = `
      import type { components, operations } from "./tidemill.ts";
      type Job = components["schemas"]["Job"];
      type Enqueued = operations["enqueueJob"]["responses"][201]["content"]["application/json"];
      export const idOf = (job: Enqueued): components["schemas"]["JobId"] => job.id;
      export const isOver = ({ state, finished_at }: Job): boolean => state === "completed" && finished_at !== null;
      export const codeOf = ({ error }: components["schemas"]["Problem"]): components["schemas"]["ErrorCode"] => error.code;
      export const body: components["schemas"]["EnqueueJob"] = { payload: { to: "ada@example.com" }, tag: "welcome" };
      export const queue: components["schemas"]["CreateQueue"] = { name: "emails" };
      export const patch: components["schemas"]["PatchQueue"] = { paused: true };
      export const limitOf = (gate: components["schemas"]["ExplainedGate"]) => gate.gate === "rate_limit" ? gate.figures.max : null;
      export const query: operations["listJobs"]["parameters"]["query"] = { limit: 10, state: "waiting" };`;
    expect(await compile(client)).toEqual([]);
    const wrong = `
      import type { components } from "./tidemill.ts";
      export const state: components["schemas"]["JobState"] = "sleeping";
      export const body: components["schemas"]["EnqueueJob"] = { payload: 1, tags: [] };
      export const code = (problem: components["schemas"]["Problem"]) => problem.code;`;
    expect(await compile(wrong)).toEqual([
      expect.stringMatching(/^client\.ts\(3,.*"sleeping"/),
      expect.stringMatching(/^client\.ts\(4,.*'tags'/),
      expect.stringMatching(/^client\.ts\(5,.*'code'/),
    ]);
  });
});
