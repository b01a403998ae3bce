import { expect } from "vitest";
import type { Stage } from "../../server/test/harness/stage.ts";
import { runHere } from "./run-here.ts";

/** The cells of a table's only row, by column name. */
export const readTable = (text: string): Record<string, string> => readRows(text)[0] ?? {};

/** The rows of a table, each with its cells by column name. */
export function readRows(text: string): Record<string, string>[] {
  const [head = "", ...rows] = text.trimEnd().split("\n");
  const columns = [...head.matchAll(/\S+\s*/g)].map(({ 0: name, index }) => ({ name: name.trim(), from: index, to: index + name.length }));
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name, from, to }, at) => [name, row.slice(from, at === columns.length - 1 ? undefined : to).trim()])),
  );
}

/** Runs a command that must succeed. Returns its output. */
export async function output(stage: Stage, args: string[], settings: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await stage.run(args, settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** As `output`, but in this process. */
export async function outputHere(args: string[], settings: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runHere(args, settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}
