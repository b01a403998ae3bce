import { elapsedMs } from "../clock.ts";

interface Process {
  readonly pid: number;
  on(signal: string, listener: (signal: string) => void): unknown;
  off(signal: string, listener: (signal: string) => void): unknown;
  listenerCount(signal: string): number;
  kill(pid: number, signal: string): unknown;
}

interface Listeners {
  readonly first: () => void;
  readonly second: () => void;
}

/**
 * Signals that come this close together count as one: npm passes Ctrl-C on to a process that already got it from the terminal.
 * Milliseconds.
 */
const SAME_MS = 250;

/**
 * Listens to these signals. The second one also ends the process, as it would without a listener: otherwise, work in progress would keep it
 * alive. If the program itself listens to the signal, ending the process is left to the program.
 *
 * @returns a function that stops listening. Does nothing in runtimes without signals
 */
export function onSignals(signals: readonly string[], { first, second }: Listeners, nowMs = elapsedMs): () => void {
  const { process } = globalThis as { readonly process?: Process };
  if (typeof process?.on !== "function" || typeof process.off !== "function") return () => {};
  let firstMs: number | null = null;
  const listener = (signal: string) => {
    if (firstMs === null) {
      firstMs = nowMs();
      first();
    } else if (nowMs() - firstMs > SAME_MS) {
      second();
      forget();
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    }
  };
  const forget = () => {
    for (const signal of signals) process.off(signal, listener);
  };
  for (const signal of signals) process.on(signal, listener);
  return forget;
}
