import type { RunEvent, Tidemill } from "@tidemill/sdk";
import { EXIT_CODES } from "../exit-code.ts";
import { StatusLine } from "../output/status-line.ts";
import { coloured, printable, printJsonLine, showCell } from "../output/table.ts";

interface WatchOptions {
  /** Seconds. */
  readonly timeout?: number;
  readonly json?: boolean;
}

type Run = Extract<RunEvent, { type: "run" }>["run"];
type Step = Run["steps"][number];
type Status = Extract<RunEvent, { type: "status" }>["status"];

/** `tidemill run watch`: prints each change of a run until it has ended, or the time has passed. */
export async function watchRun(tidemill: Tidemill, id: string, { timeout, json }: WatchOptions): Promise<void> {
  const signal = timeout === undefined ? undefined : AbortSignal.timeout(timeout * 1_000);
  const printer = json ? { print: printJsonLine, end: () => {} } : new RunPrinter();
  let status = "";
  try {
    for await (const event of tidemill.runs.watch(id, { signal })) {
      printer.print(event);
      if (event.type === "run") status = event.run.status;
      if (event.type === "status") status = event.status.status;
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    printer.end();
  }
  if (status !== "completed") process.exitCode = EXIT_CODES.unsuccessful.code;
}

/** Prints steps and changes of the status as lines. In a terminal, the newest progress stays on the last line. */
class RunPrinter {
  readonly #last = new StatusLine();
  #shown = "";

  print(event: RunEvent): void {
    switch (event.type) {
      case "run":
        this.#printRun(event.run);
        return;
      case "step":
        this.#last.print(lineOfStep(event.step));
        return;
      case "progress":
        this.#printProgress(event.progress);
        return;
      case "status":
        this.#printStatus(event.status);
    }
  }

  end(): void {
    this.#last.clear();
  }

  #printRun(run: Run): void {
    for (const step of run.steps) this.#last.print(lineOfStep(step));
    if (run.progress !== null) this.#printProgress(run.progress);
    this.#printStatus(run);
  }

  #printProgress(progress: unknown): void {
    this.#last.show(`progress  ${printable(showCell(progress))}`);
  }

  #printStatus(status: Status): void {
    const line = lineOfStatus(status);
    if (line === this.#shown) return;
    this.#shown = line;
    this.#last.print(line);
  }
}

function lineOfStep({ key, type, status, attempt, output, error, wakeAt, signal }: Step): string {
  const facts = [
    key,
    ...(type === "run" ? [] : [type]),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(status === "waiting" && signal !== null ? [`signal ${signal}`] : []),
    ...(status === "waiting" && wakeAt !== null ? [`until ${wakeAt}`] : []),
    ...(error ? [`${error.name}: ${error.message}`] : []),
    ...(output === null ? [] : [JSON.stringify(output)]),
  ];
  return `  ${coloured(status)}  ${printable(facts.join(", "))}`;
}

function lineOfStatus({ status, attempt, attempts, error, nextAttemptAt, result }: Status): string {
  const facts = [
    ...(status === "pending" ? [] : [`attempt ${attempt} of ${attempts}`]),
    ...(error ? [`${error.name}: ${error.message}`] : []),
    ...(nextAttemptAt === null ? [] : [`next at ${nextAttemptAt}`]),
    ...(status === "completed" && result !== null ? [JSON.stringify(result)] : []),
  ];
  return `${coloured(status)}  ${printable(facts.join(", "))}`.trimEnd();
}
