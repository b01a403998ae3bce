import { type KeyboardEvent, type RefObject, useState } from "react";
import type { RowsByPlace } from "../../api/rows.ts";
import type { Selection } from "./selection.ts";

export interface RowKeysOptions {
  readonly rows: RowsByPlace<unknown>;
  readonly selection: Selection | undefined;
  readonly scrollTo: (index: number) => void;
  readonly body: RefObject<HTMLDivElement | null>;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20 };

/** Which row has the focus, and the keys that move it. */
export function useRowKeys({ rows, selection, scrollTo, body }: RowKeysOptions) {
  const [active, setActive] = useState(0);
  const focus = (index: number) => {
    setActive(index);
    scrollTo(index);
    // After the row exists.
    requestAnimationFrame(() => requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)?.focus()));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, shiftKey, target } = event;
    const last = rows.length - 1;
    const step = STEPS[key];
    const next = step !== undefined ? active + step : key === "Home" ? 0 : key === "End" ? last : null;
    const id = rows.at(active)?.id;
    if (next !== null) {
      const to = Math.max(0, Math.min(last, next));
      if (shiftKey && selection && id !== undefined) selection.set([...selection.ids, id, rows.at(to)?.id ?? id]);
      focus(to);
    } else if ((key === " " || key.toLowerCase() === "x") && selection && id !== undefined) {
      selection.toggle(id, shiftKey, rows);
    } else if (key === "Enter" && (target as HTMLElement).role === "row") {
      (target as HTMLElement).querySelector<HTMLElement>("a")?.click();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return { active: Math.min(active, Math.max(0, rows.length - 1)), setActive, onKeyDown };
}
