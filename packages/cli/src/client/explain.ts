import type { Command } from "commander";
import { printExplanation } from "../output/explanation.ts";
import { toThree, withJobOfWorkspace } from "./approval.ts";
import { runOnService, withConnection } from "./command.ts";
import { addressOf } from "./job-address.ts";

export function addExplainCommand(program: Command): void {
  const explain = withConnection(
    withJobOfWorkspace(program.command("explain").description("Explain why a job is not running, and estimate when it will start")),
  );
  explain.action(async (named: string[], options: { json?: boolean }) => {
    if (named.length === 3) return (await import("../operator/explain.ts")).explainCommand(...toThree(named), options);
    await runOnService(explain, async (tidemill, { args }) => {
      const { queue, id } = await addressOf(tidemill, args);
      printExplanation(await tidemill.queue(queue).jobs.explain(id), options.json);
    });
  });
}
