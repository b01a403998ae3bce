import { type RefObject, useLayoutEffect, useState } from "react";
import { flushSync } from "react-dom";

/** Rows above and below the window that are kept ready. When this many have scrolled past, others are created. */
const SPARE = 8;
/** What may cover rows at the top of the window: a bar, and the head of the table. Pixels. */
const COVERED = 80;

export interface RowsInWindow {
  /** The places of the rows that exist as elements. */
  readonly places: readonly number[];
  /** Whether the last row is near. */
  readonly isAtEnd: boolean;
  /** Scrolls until a row is visible. */
  readonly scrollTo: (place: number) => void;
}

/** Which of many rows are in the window. All are equally high, so that this costs the same however many there are. */
export function useRowsInWindow(body: RefObject<HTMLElement | null>, count: number, rowHeight: number): RowsInWindow {
  const [{ scrolled, fitting }, setWindow] = useState({ scrolled: 0, fitting: 0 });
  useLayoutEffect(() => {
    const look = () => {
      const passed = Math.floor(-topOf(body) / rowHeight / SPARE) * SPARE;
      const fit = Math.ceil(window.innerHeight / rowHeight);
      setWindow((old) => (old.scrolled === passed && old.fitting === fit ? old : { scrolled: passed, fitting: fit }));
    };
    // At once: otherwise a frame would be shown without its rows.
    const lookNow = () => flushSync(look);
    look();
    window.addEventListener("scroll", lookNow, { passive: true });
    window.addEventListener("resize", lookNow, { passive: true });
    return () => {
      window.removeEventListener("scroll", lookNow);
      window.removeEventListener("resize", lookNow);
    };
  }, [body, rowHeight]);
  const from = Math.max(0, Math.min(scrolled, count - fitting) - SPARE);
  const to = Math.max(0, Math.min(count, scrolled + fitting + 2 * SPARE));
  const scrollTo = (place: number) => {
    const above = topOf(body) + place * rowHeight - COVERED;
    const below = topOf(body) + (place + 1) * rowHeight - window.innerHeight;
    if (above < 0 || below > 0) window.scrollBy(0, above < 0 ? above : below);
  };
  return { places: Array.from({ length: to - from }, (_, at) => from + at), isAtEnd: to === count, scrollTo };
}

const topOf = (body: RefObject<HTMLElement | null>): number => body.current?.getBoundingClientRect().top ?? 0;
