import { expect } from "vitest";
import type { Stage } from "../../server/test/harness/stage.ts";
import { runHere } from "./run-here.ts";

/** The cells of a table's only row, by column name. */
export const readTable = (text: string): Record<string, string> => readRows(text)[0] ?? {};

/** The rows of a table, each with its cells by column name. */
export function readRows(text: string): Record<string, string>[] {
  const [head = "", ...rows] = text.replace(/\n$/, "").split("\n");
  const columns = head.split("\t");
  return rows.map((row) => {
    const cells = row.split("\t");
    return Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ""]));
  });
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
