import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";

/** The exit code and the output of a command. */
interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

interface Surroundings {
  /** The standard input. Empty by default. */
  readonly stdin?: Readable;
  /** Gets each piece of output as it is written. */
  readonly onOutput?: (text: string) => void;
}

/**
 * Runs a command to its end as `Stage.run` does, but in this process. A short command's time is nearly all loading, and here the code is
 * loaded already. Run only one at a time: it replaces the process's arguments, environment, input, output and exit.
 *
 * @param settings the command's whole environment
 */
export async function runHere(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  { stdin = Readable.from([]), onOutput = () => {} }: Surroundings = {},
): Promise<Outcome> {
  const ending: { code: number | null; stdout: string; stderr: string } = { code: null, stdout: "", stderr: "" };
  const { argv, env, exit, exitCode, stdin: own } = process;
  const writes = { stdout: process.stdout.write, stderr: process.stderr.write };
  const listeners = { stdout: process.stdout.listeners("error"), stderr: process.stderr.listeners("error") };
  for (const name of ["stdout", "stderr"] as const)
    process[name].write = (text: string | Uint8Array) => {
      // An ended process writes no more.
      if (ending.code === null) ending[name] += String(text);
      onOutput(String(text));
      return true;
    };
  Object.defineProperty(process, "stdin", { value: stdin, configurable: true });
  Object.assign(process, {
    argv: [...argv.slice(0, 1), "tidemill", ...args],
    env: { ...settings },
    exitCode: undefined,
    exit: (code = 0) => {
      ending.code ??= Number(code);
      throw new Error("The process has ended.");
    },
  });
  try {
    // A new query loads commands.ts as a new module, but not the modules that it imports.
    await import(/* @vite-ignore */ new URL(`../src/commands.ts?${randomUUID()}`, import.meta.url).href).catch((error: unknown) => {
      if (ending.code === null) throw error;
    });
    return { ...ending, code: ending.code ?? Number(process.exitCode ?? 0) };
  } finally {
    Object.assign(process, { argv, env, exit, exitCode });
    Object.defineProperty(process, "stdin", { value: own, configurable: true });
    for (const name of ["stdout", "stderr"] as const) {
      process[name].write = writes[name];
      for (const one of process[name].listeners("error")) if (!listeners[name].includes(one)) process[name].off("error", one as () => void);
    }
  }
}
