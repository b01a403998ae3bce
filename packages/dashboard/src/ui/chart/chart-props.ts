/** A line of a chart. */
export interface ChartSeries {
  readonly name: string;
  /** One per moment; null where nothing is known. */
  readonly values: readonly (number | null)[];
  /** A variable of `base.css`: `--good`. */
  readonly color: string;
  readonly fill?: boolean;
}

/** Something that happened: a deploy, a pause, an opened circuit. */
export interface ChartMark {
  readonly atMs: number;
  readonly text: string;
  readonly color?: string;
}

export interface ChartProps {
  readonly label: string;
  /** The moments of the values, ascending. Milliseconds. */
  readonly timesMs: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly marks?: readonly ChartMark[];
  readonly height?: number;
  /** How a value is written at the axis and beside the cursor. */
  readonly format?: (value: number) => string;
  /** Possible distances between the lines of the axis of values, ascending. Default: those of counts. */
  readonly steps?: readonly number[];
}

/** How a count is written. */
export const showCount = (value: number): string => value.toLocaleString("en");
