import { useSyncExternalStore } from "react";

/** A message about something that the person has done. */
export interface Notice {
  readonly id: number;
  readonly tone: "done" | "failed";
  readonly text: string;
  /** Undoes it, if that is possible. */
  readonly undo?: (() => unknown) | undefined;
}

let notices: readonly Notice[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function publish(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

/** Shows a notice until it is dismissed. A notice of success is shown for a few seconds. */
export function notify(notice: Omit<Notice, "id">): void {
  const id = ++lastId;
  publish([...notices, { ...notice, id }].slice(-4));
}

/** Shows that a change failed, and why. */
export const notifyFailure = (what: string, error: unknown): void =>
  notify({ tone: "failed", text: `${what}: ${error instanceof Error ? error.message : String(error)}` });

export const dismiss = (id: number): void => publish(notices.filter((one) => one.id !== id));

export const useNotices = (): readonly Notice[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => notices,
  );
