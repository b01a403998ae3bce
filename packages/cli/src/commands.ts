import { exitWithError } from "./exit-with-error.ts";
import { reportLostOutput } from "./output/lost-output.ts";
import { createProgram } from "./program.ts";

// The command finishes its work, even if its output cannot be written.
process.stdout.on("error", reportLostOutput);
process.stderr.on("error", () => {});

await createProgram().parseAsync().catch(exitWithError);
