import { asWorkflowCheck } from "@tidemill/contract";
import { EXIT_CODES } from "../exit-code.ts";
import { printJson, printTable } from "../output/table.ts";
import { checkWorkflows } from "../workflow/check-workflows.ts";
import { loadWorkflows } from "../workflow/load-workflows.ts";
import { type CommonOptions, createClient } from "./command.ts";

const RETRY_FOR_MS = 10_000;

/** Replays the journals of all runs in flight with the workflows that a file exports. Ends the process. */
export async function checkCode(file: string, options: CommonOptions): Promise<void> {
  // Numbers are parsed as the service's workers parse them.
  const tidemill = createClient(options, { retryForMs: RETRY_FOR_MS });
  process.once("exit", endedEarly);
  const onSlow = () => process.stderr.write(`tidemill: still loading ${file} … Pass a module that only exports workflows.\n`);
  const check = async () => checkWorkflows(tidemill, await loadWorkflows(file, onSlow));
  const { runs, unfit } = await withoutOutput(() => asWorkflowCheck(check)).finally(() => process.off("exit", endedEarly));
  if (options.json) printJson({ runs, unfit });
  else {
    if (unfit.length > 0) printTable(unfit.map((one) => ({ ...one })));
    process.stderr.write(`tidemill: ${runs} ${runs === 1 ? "run" : "runs"} checked, ${unfit.length} would not fit.\n`);
  }
  const { code } = unfit.length > 0 ? EXIT_CODES.failed : EXIT_CODES.done;
  // The module may have opened connections that would keep the process alive. If output was lost, the exit code is already set.
  if (process.stdout.writableLength > 0) await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit(process.exitCode ?? code);
}

/** A module that ends the process, for example because it is a whole program, must not make a check pass. */
function endedEarly(): void {
  if (process.exitCode) return;
  process.exitCode = EXIT_CODES.failed.code;
  process.stderr.write("tidemill: the code ended the process before its runs were checked. Pass a module that only exports workflows.\n");
}

/** Meanwhile, the output of workflows goes to the standard error, so that the standard output has only the result. */
async function withoutOutput<Result>(work: () => Promise<Result>): Promise<Result> {
  const { log, info, debug, error } = console;
  Object.assign(console, { log: error, info: error, debug: error });
  try {
    return await work();
  } finally {
    Object.assign(console, { log, info, debug });
  }
}
