import { exitWithError } from "./exit-with-error.ts";
import { createProgram } from "./program.ts";

// The reader of our output may go away first ("| head", a closed terminal). The command still finishes its work.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

await createProgram().parseAsync().catch(exitWithError);
