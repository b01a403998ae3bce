import type { ReactNode } from "react";

/** A column of a table. */
export interface Column<T> {
  readonly id: string;
  readonly header: string;
  /** Its width as a track of a grid: `8rem`, `minmax(10rem, 2fr)`. */
  readonly width: string;
  readonly cell: (record: T) => ReactNode;
  readonly align?: "end";
  /** Shown after the value if rows have several lines and so no heads: `waiting`. */
  readonly unit?: string;
  /** Left out on narrow windows. */
  readonly wide?: boolean;
}

/** A row of several lines on narrow windows. Other columns are left out. */
export interface NarrowRow {
  /** Ids of columns, as in `grid-template-areas`: `job job created`. */
  readonly lines: readonly string[];
  readonly widths: string;
}

/** Where a row leads: the page of its record. */
export interface RowTarget {
  readonly to: string;
  readonly params: Readonly<Record<string, string>>;
}
