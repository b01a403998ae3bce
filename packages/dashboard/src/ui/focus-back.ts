import { useEffect } from "react";

/** How many of the elements that had the focus are remembered. */
const MAX_REMEMBERED = 20;
/** Menus, which close before the dialog that they open. */
const GONE_SOON = "[role=menu]";
/** A dialog itself has the focus while its controls cannot have it. */
const DIALOG = "[role=dialog]";

/** Elements that had the focus, the newest first. */
let remembered: Element[] = [];

document.addEventListener("focusin", ({ target }) => {
  const element = target as Element;
  if (element.matches(DIALOG)) return;
  remembered = [element, ...remembered.filter((one) => one !== element && one.isConnected)].slice(0, MAX_REMEMBERED);
});

/**
 * Gives the focus back when a dialog closes or is taken away: to what had it before, or before that if it is gone too. Mantine's own does so
 * only for dialogs that were closed when they were made.
 */
export function useFocusBack(opened: boolean): void {
  useEffect(() => {
    if (!opened) return;
    return () => {
      // After the elements of the dialog are gone. Another dialog may have taken the focus.
      setTimeout(giveBack);
    };
  }, [opened]);
}

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;

function giveBack(): void {
  if (!isLost()) return;
  const last = remembered.find((element) => element.isConnected && element.checkVisibility() && !element.closest(GONE_SOON));
  const able = last?.matches(":disabled") ? last.closest(DIALOG) : last;
  ((able ?? document.querySelector("main")) as HTMLElement | null)?.focus({ preventScroll: true });
}

/** A new page has replaced the element that had the focus: Tab continues in it. Not for the first page, which nobody has used yet. */
export function focusPage(main: HTMLElement | null): void {
  if (remembered.length > 0 && isLost()) main?.focus({ preventScroll: true });
}
