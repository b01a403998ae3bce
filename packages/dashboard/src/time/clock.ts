import { useSyncExternalStore } from "react";

/** The browser's time in milliseconds. */
export const nowMs = (): number => Date.now();

/** A moment of the API in milliseconds. */
export const toMs = (moment: string): number => Date.parse(moment);

/** Milliseconds as a moment of the API. */
export const toMoment = (ms: number): string => new Date(ms).toISOString();

const TICK_MS = 5_000;
const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;
let tickedAt = nowMs();

function tick(): void {
  // A hidden tab rests.
  if (document.hidden) return;
  tickedAt = nowMs();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    tickedAt = nowMs();
    ticking = setInterval(tick, TICK_MS);
    document.addEventListener("visibilitychange", tick);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(ticking);
    document.removeEventListener("visibilitychange", tick);
  };
}

/** The time, updated every few seconds while the tab is shown. All components share one timer. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => tickedAt);
