import { elapsedMs } from "../clock.ts";

interface Process {
  on(signal: string, listener: () => void): unknown;
  off(signal: string, listener: () => void): unknown;
}

interface Listeners {
  readonly first: () => void;
  readonly second: () => void;
}

/** Signals that come so close together are one: npm passes Ctrl-C on to a process that has it from the terminal already. Milliseconds. */
const SAME_MS = 250;

/** Listens to these signals. Returns what stops listening. Does nothing in runtimes without signals. */
export function onSignals(signals: readonly string[], { first, second }: Listeners, nowMs = elapsedMs): () => void {
  const { process } = globalThis as { readonly process?: Partial<Process> };
  if (typeof process?.on !== "function" || typeof process.off !== "function") return () => {};
  let firstMs: number | null = null;
  const listener = () => {
    if (firstMs === null) {
      firstMs = nowMs();
      first();
    } else if (nowMs() - firstMs > SAME_MS) second();
  };
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off?.(signal, listener);
  };
}
