import { text } from "node:stream/consumers";
import { openInput } from "../bulk/input.ts";
import { parseExactly } from "../parse-exactly.ts";

interface JsonInput {
  /** What it is, for errors. */
  readonly what: string;
  /** JSON from the command line. */
  readonly argument: string | undefined;
  /** The file of `--file`. */
  readonly file: string | undefined;
}

export const FILE = ["--file <path>", "Read this file instead of the standard input"] as const;

/**
 * Reads a JSON value: an argument, a file, or the standard input unless it is a terminal.
 *
 * @returns undefined when there is nothing
 */
export async function readJsonInput({ what, argument, file }: JsonInput): Promise<unknown> {
  if (argument !== undefined && file !== undefined) throw new Error(`Give the ${what} as an argument or with --file, not both.`);
  if (argument === undefined && file === undefined && process.stdin.isTTY) return undefined;
  const json = argument ?? (await text(openInput(file === undefined ? {} : { file }).chunks));
  if (argument === undefined && json.trim() === "") return undefined;
  return parseJson(what, json);
}

/** @param what it is, for errors */
export function parseJson(what: string, json: string): unknown {
  try {
    return parseExactly(json);
  } catch (error) {
    throw new Error(`The ${what} is not JSON: ${(error as Error).message}`);
  }
}
