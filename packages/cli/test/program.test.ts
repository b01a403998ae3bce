import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../src/program.ts";

/** What runs until it is stopped, and what shells run. */
const WITHOUT_JSON = ["up", "completion", "complete"];

const leaves = (command: Command, above: readonly string[] = []): { path: string; options: readonly string[] }[] =>
  command.commands.flatMap((one) => {
    const path = [...above, one.name()];
    if (one.commands.length > 0) return leaves(one, path);
    return [{ path: path.join(" "), options: one.options.map(({ long }) => long ?? "") }];
  });

test("every command that prints a result prints it as JSON, too", () => {
  const commands = leaves(createProgram());
  expect(commands.length).toBeGreaterThan(50);
  expect(commands.filter(({ options }) => !options.includes("--json")).map(({ path }) => path)).toEqual(WITHOUT_JSON);
});
