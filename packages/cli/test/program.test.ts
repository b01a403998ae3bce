import type { Command, Option } from "commander";
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

/** Commands with their help, as printed where the width of the terminal is not known. */
const helpOf = (command: Command): [name: string, help: string][] => [
  [command.name(), command.helpInformation()],
  ...command.commands.flatMap(helpOf),
];

test("the help of every command has lines that a terminal shows whole", () => {
  const lines = helpOf(createProgram()).flatMap(([name, help]) => help.split("\n").map((line) => ({ name, line })));
  expect(lines.length).toBeGreaterThan(500);
  expect(lines.filter(({ line }) => line.length > 100)).toEqual([]);
});

test("an option that takes JSON says how that looks", () => {
  const options = (command: Command): Option[] => [...command.options, ...command.commands.flatMap(options)];
  const ofJson = options(createProgram()).filter(({ flags }) => flags.includes("<json>"));
  expect(ofJson.length).toBeGreaterThan(8);
  for (const { flags, description } of ofJson) expect(`${flags} ${description}`).toMatch(/For example '\{|any JSON value/);
});

test("every command that prints a result prints it as JSON, too", () => {
  const commands = leaves(createProgram());
  expect(commands.length).toBeGreaterThan(50);
  expect(commands.filter(({ options }) => !options.includes("--json")).map(({ path }) => path)).toEqual(WITHOUT_JSON);
});
