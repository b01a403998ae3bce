import type uPlot from "uplot";
import type { ChartMark } from "./chart-props.ts";

/** Marks that are closer than this share a label. Pixels of the canvas. */
const LABEL_WIDTH = 90;
const MAX_LABEL = 26;

/** Draws marks as lines over a chart, with their texts at the top if there is room. */
export function drawMarks({ ctx, bbox, valToPos }: uPlot, marks: readonly ChartMark[], color: (name: string) => string): void {
  ctx.save();
  ctx.font = `${10 * devicePixelRatio}px system-ui`;
  ctx.textBaseline = "top";
  // The axes leave theirs.
  ctx.textAlign = "left";
  let freeFrom = Number.NEGATIVE_INFINITY;
  for (const { atMs, text, color: name = "--text-2" } of [...marks].sort((a, b) => a.atMs - b.atMs)) {
    const x = Math.round(valToPos(atMs / 1000, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = color(name);
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (x < freeFrom) continue;
    const label = text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text;
    const width = ctx.measureText(label).width;
    const gap = 3 * devicePixelRatio;
    // Beside its line, on the other side if there is no room before the edge.
    const left = x + gap + width <= bbox.left + bbox.width ? x + gap : x - gap - width;
    if (left < Math.max(freeFrom, bbox.left)) continue;
    ctx.fillStyle = color(name);
    ctx.fillText(label, left, bbox.top);
    freeFrom = left + Math.max(width, LABEL_WIDTH) + 2 * gap;
  }
  ctx.restore();
}

/** The marks that are nearer to a moment than half a step. */
export function nearMarks(marks: readonly ChartMark[], timesMs: readonly number[], at: number): readonly ChartMark[] {
  const time = timesMs[at] ?? 0;
  const step = timesMs.length > 1 ? ((timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0)) / (timesMs.length - 1) : Number.POSITIVE_INFINITY;
  return marks.filter(({ atMs }) => Math.abs(atMs - time) <= step / 2);
}
