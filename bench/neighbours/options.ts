import { parseArgs } from "node:util";
import type { Attack } from "./attack.ts";
import { ATTACKS } from "./attacks.ts";

export interface NeighboursOptions {
  /** Each run has one attack or several. */
  readonly runs: readonly (readonly Attack[])[];
  readonly seconds: number;
  readonly nodes: number;
  /** Whether the neighbour has a node and a PostgreSQL of its own, which nobody attacks. What it still sees is the machine's doing. */
  readonly apart: boolean;
  /** The file to which each request and delivery is written. */
  readonly samplesFile?: string;
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
    options: {
      attacks: { type: "string" },
      seconds: { type: "string", default: "15" },
      nodes: { type: "string", default: "1" },
      apart: { type: "boolean", default: false },
      samples: { type: "string" },
    },
  });
  const chosen = values.attacks?.split(",") ?? [...ATTACKS.map(({ number }) => String(number)), ALL];
  return {
    runs: chosen.map(attacksOf),
    seconds: positive("seconds", values.seconds),
    nodes: positive("nodes", values.nodes),
    apart: values.apart,
    ...(values.samples !== undefined && { samplesFile: values.samples }),
  };
}

/** The attacks of one run: "4", several at once as in "1+6", or all of them at once. */
function attacksOf(text: string): readonly Attack[] {
  const numbers = text === ALL ? ATTACKS.map(({ number }) => String(number)) : text.split("+");
  const attacks = numbers.map((wanted) => ATTACKS.find(({ number }) => String(number) === wanted));
  if (!attacks.every((attack) => attack !== undefined)) {
    throw new Error(`--attacks takes numbers from 1 to ${ATTACKS.length}, several at once as in 1+6, and ${ALL}; separated by commas.`);
  }
  return attacks.toSorted((one, other) => Number(one.timed ?? false) - Number(other.timed ?? false));
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1.`);
  return value;
}
