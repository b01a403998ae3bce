import { useSyncExternalStore } from "react";

/** What a person has chosen in this browser. It is stored if the browser allows that. */
const PREFIX = "tidemill.";

const listeners = new Set<() => void>();
const values = new Map<string, string | null>();

function read(name: string): string | null {
  const known = values.get(name);
  if (known !== undefined) return known;
  let value: string | null = null;
  try {
    value = localStorage.getItem(PREFIX + name);
  } catch {
    // The browser keeps nothing for this page.
  }
  values.set(name, value);
  return value;
}

function write(name: string, value: string): void {
  values.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // As above.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** A preference and what sets it. */
export function usePreference(name: string, fallback: string): [string, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => read(name)) ?? fallback;
  return [value, (next) => write(name, next)];
}

export const lastWorkspace = (): string | null => read("workspace");
export const rememberWorkspace = (id: string): void => {
  if (read("workspace") !== id) write("workspace", id);
};
