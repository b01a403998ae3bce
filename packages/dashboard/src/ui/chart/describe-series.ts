import type { ChartSeries } from "./chart-props.ts";

/** A series in words, for people who do not see its line: its last and its highest value, as they are written at the axis. */
export function describeSeries({ name, values }: ChartSeries, format: (value: number) => string): string {
  const known = values.filter((value) => value !== null);
  const last = known.at(-1);
  return last === undefined ? `${name}: none` : `${name}: last ${format(last)}, highest ${format(Math.max(...known))}`;
}
