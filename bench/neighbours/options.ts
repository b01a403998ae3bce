import { parseArgs } from "node:util";
import type { Attack } from "./attack.ts";
import { ATTACKS } from "./attacks.ts";

export interface NeighboursOptions {
  /** Each run has one attack or several. */
  readonly runs: readonly (readonly Attack[])[];
  readonly seconds: number;
  readonly nodes: number;
}

const ALL = "all";

/**
 * Reads the options of the scenario.
 *
 * @throws an Error for the person who gave them
 */
export function readOptions(args: readonly string[]): NeighboursOptions {
  const { values } = parseArgs({
    args: [...args],
    options: { attacks: { type: "string" }, seconds: { type: "string", default: "15" }, nodes: { type: "string", default: "1" } },
  });
  const chosen = values.attacks?.split(",") ?? [...ATTACKS.map(({ number }) => String(number)), ALL];
  return { runs: chosen.map(attacksOf), seconds: positive("seconds", values.seconds), nodes: positive("nodes", values.nodes) };
}

function attacksOf(text: string): readonly Attack[] {
  if (text === ALL) return [...ATTACKS].sort((one, other) => Number(one.timed ?? false) - Number(other.timed ?? false));
  const attack = ATTACKS.find(({ number }) => String(number) === text);
  if (!attack) throw new Error(`--attacks takes numbers from 1 to ${ATTACKS.length} and "${ALL}", separated by commas.`);
  return [attack];
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1.`);
  return value;
}
