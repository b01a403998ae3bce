import { appendFileSync, writeFileSync } from "node:fs";
import type { Environment } from "../environment.ts";
import type { NeighboursOptions } from "../neighbours/options.ts";
import { describe, report } from "../neighbours/report.ts";
import { type Outcome, run } from "../neighbours/run.ts";
import type { Samples } from "../neighbours/samples.ts";

/**
 * What one workspace can cost another on the same nodes: a neighbour is measured alone, then during each attack of bench/neighbours/, then
 * during all of them at once. Returns the tables. Each sample is written to `samplesFile`.
 */
export async function neighbours(
  environment: Environment,
  { runs, seconds, nodes, apart, samplesFile }: NeighboursOptions,
): Promise<string> {
  const keep = ({ attacks, samples }: Outcome) => {
    if (samplesFile) appendFileSync(samplesFile, linesOf(attacks.map(({ number }) => number).join("+") || "none", samples));
  };
  if (samplesFile) writeFileSync(samplesFile, "attacks\twhat\tkind\tat_ms\tms\n");
  process.stderr.write("  the neighbour alone\n");
  const alone = await run(environment, { attacks: [], seconds, nodes, apart });
  keep(alone);
  const outcomes: Outcome[] = [];
  for (const attacks of runs) {
    process.stderr.write(`  attack ${attacks.map(({ number }) => number).join(", ")}\n`);
    try {
      const outcome = await run(environment, { attacks, seconds, nodes, apart });
      process.stderr.write(`${describe(outcome, alone)}\n`);
      outcomes.push(outcome);
      keep(outcome);
    } catch (error) {
      // What was measured before is still shown.
      process.stderr.write(`  not measured: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  return report(alone, outcomes);
}

/** A line with tabs for each sample, in the order in which they began. */
const linesOf = (attacks: string, { each }: Samples): string =>
  each
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(({ what, kind, atMs, ms }) => `${attacks}\t${what}\t${kind}\t${atMs.toFixed(0)}\t${ms.toFixed(1)}\n`)
    .join("");
