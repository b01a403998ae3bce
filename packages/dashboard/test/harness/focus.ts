import type { Locator } from "playwright-core";

/** What can be reached with Tab. */
const REACHABLE = "a[href], button, input, textarea, select, [tabindex]";

/** Controls of a page, or of a part of it, that look the same with the focus as without it. Each is named by its HTML. */
export function unseenFocus(part: Locator): Promise<string[]> {
  return part.evaluate((root, selector) => {
    const looks = (element: Element): string => {
      const near = [element, element.parentElement, element.parentElement?.parentElement, element.nextElementSibling];
      return near
        .map((one) => {
          if (!one) return "";
          const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor, transform } = getComputedStyle(one);
          return [outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor, transform].join();
        })
        .join(";");
    };
    const before = document.activeElement as HTMLElement | null;
    before?.blur();
    const unseen = [...root.querySelectorAll<HTMLElement>(selector)].filter((element) => {
      if (element.tabIndex < 0 || element.matches(":disabled") || !element.checkVisibility()) return false;
      const without = looks(element);
      element.focus({ preventScroll: true, focusVisible: true } as FocusOptions);
      const isSeen = document.activeElement !== element || looks(element) !== without;
      element.blur();
      return !isSeen;
    });
    before?.focus({ preventScroll: true });
    return unseen.map((element) => element.outerHTML.slice(0, 200));
  }, REACHABLE);
}
