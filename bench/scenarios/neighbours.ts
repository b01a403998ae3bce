import type { Environment } from "../environment.ts";
import type { NeighboursOptions } from "../neighbours/options.ts";
import { describe, report } from "../neighbours/report.ts";
import { type Outcome, run } from "../neighbours/run.ts";

/**
 * What one workspace can cost another on the same nodes: a neighbour is measured alone, then during each attack of bench/neighbours/, then
 * during all of them at once. Returns the tables.
 */
export async function neighbours(environment: Environment, { runs, seconds, nodes }: NeighboursOptions): Promise<string> {
  process.stderr.write("  the neighbour alone\n");
  const alone = await run(environment, { attacks: [], seconds, nodes });
  const outcomes: Outcome[] = [];
  for (const attacks of runs) {
    process.stderr.write(`  attack ${attacks.map(({ number }) => number).join(", ")}\n`);
    try {
      const outcome = await run(environment, { attacks, seconds, nodes });
      process.stderr.write(`${describe(outcome, alone)}\n`);
      outcomes.push(outcome);
    } catch (error) {
      // What was measured before is still shown.
      process.stderr.write(`  not measured: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  return report(alone, outcomes);
}
