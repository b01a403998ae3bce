import { EXIT_CODES } from "../exit-code.ts";

/** Says that output is missing, and makes the command end with an error, unless only its reader went away ("| head", a closed terminal). */
export function reportLostOutput(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE" || process.stdout.isTTY || process.exitCode) return;
  process.exitCode = EXIT_CODES.failed.code;
  process.stderr.write(`tidemill: The output cannot be written: ${error.message}.\n`);
}

/** Ends a command that prints until it is stopped, as soon as nobody can read what it prints. `reportLostOutput` has set the exit code. */
export function endWithOutput(): void {
  process.stdout.once("error", () => process.exit());
}
