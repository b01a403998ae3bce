import { useSyncExternalStore } from "react";

/** A dialog over the page that a response caused: the session has ended, or the person must confirm who they are. */
type Asked = { readonly kind: "ended" } | { readonly kind: "confirm"; readonly answer: (confirmed: boolean) => void };

let asked: Asked | null = null;
let confirming: Promise<boolean> | null = null;
const listeners = new Set<() => void>();

function ask(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

export const sessionEnded = (): void => {
  if (asked?.kind === "confirm") asked.answer(false);
  ask({ kind: "ended" });
};

/** The person has signed in again. */
export const sessionGoesOn = (): void => {
  if (asked?.kind === "ended") ask(null);
};

/** Asks once for all requests that wait for it. */
export function confirmAgain(): Promise<boolean> {
  confirming ??= new Promise<boolean>((resolve) => {
    const question: Asked = {
      kind: "confirm",
      answer: (confirmed) => {
        // It was answered, and there may be another question now.
        if (asked !== question) return;
        confirming = null;
        ask(null);
        resolve(confirmed);
      },
    };
    ask(question);
  });
  return confirming;
}

export const useAsked = (): Asked | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => asked,
  );
