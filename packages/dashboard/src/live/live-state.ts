import { useSyncExternalStore } from "react";
import type { LiveState } from "./connection.ts";

/** Null while nothing is followed, and until it is known. */
let current: LiveState | null = null;
const listeners = new Set<() => void>();

export function setLiveState(state: LiveState | null): void {
  current = state;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** How changes reach the page. */
export const useLiveState = (): LiveState | null => useSyncExternalStore(subscribe, () => current);
