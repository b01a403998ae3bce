/** The longest timer that runtimes support: a longer one would end immediately. Milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits, however long. Rejects with the signal's reason when it aborts. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    let timer: ReturnType<typeof setTimeout>;
    let leftMs = ms;
    const next = () => {
      const partMs = Math.min(leftMs, MAX_TIMER_MS);
      leftMs -= partMs;
      timer = setTimeout(leftMs > 0 ? next : end, partMs);
    };
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    next();
    signal?.addEventListener("abort", end, { once: true });
  });
}
