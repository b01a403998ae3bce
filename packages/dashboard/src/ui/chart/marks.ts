import type uPlot from "uplot";
import type { ChartMark } from "./chart-props.ts";

/** Draws marks as lines over a chart. */
export function drawMarks({ ctx, bbox, valToPos }: uPlot, marks: readonly ChartMark[], color: (name: string) => string): void {
  ctx.save();
  ctx.setLineDash([4, 3]);
  for (const { atMs, color: name = "--text-2" } of marks) {
    const x = Math.round(valToPos(atMs / 1000, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = color(name);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** The marks that are nearer to a moment than half a step. */
export function nearMarks(marks: readonly ChartMark[], timesMs: readonly number[], at: number): readonly ChartMark[] {
  const time = timesMs[at] ?? 0;
  const step = timesMs.length > 1 ? ((timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0)) / (timesMs.length - 1) : Number.POSITIVE_INFINITY;
  return marks.filter(({ atMs }) => Math.abs(atMs - time) <= step / 2);
}
