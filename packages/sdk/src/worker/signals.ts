interface Process {
  on(signal: string, listener: () => void): unknown;
  off(signal: string, listener: () => void): unknown;
}

/** Calls `listener` at the first of these signals. Returns what stops listening. Does nothing in runtimes without signals. */
export function onSignals(signals: readonly string[], listener: () => void): () => void {
  const { process } = globalThis as { readonly process?: Partial<Process> };
  if (typeof process?.on !== "function" || typeof process.off !== "function") return () => {};
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off?.(signal, listener);
  };
}
