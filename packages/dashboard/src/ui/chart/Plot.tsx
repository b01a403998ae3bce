import "./known-language.ts";
import { useMantineColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatClock, formatExact } from "../../time/format.ts";
import { useZone } from "../../time/zone.ts";
import { COUNT_STEPS } from "./axis-steps.ts";
import classes from "./Chart.module.css";
import { type ChartProps, showCount } from "./chart-props.ts";
import { drawMarks, nearMarks } from "./marks.ts";

const DAY_MS = 86_400_000;

/** The drawing of a chart, by uPlot. */
export default function Plot({ timesMs, series, marks = [], height = 160, format = showCount, steps = COUNT_STEPS }: ChartProps) {
  const home = useRef<HTMLDivElement>(null);
  const { zone } = useZone();
  const { colorScheme } = useMantineColorScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: colors are read from the styles, which the scheme changes.
  useEffect(() => {
    const element = home.current;
    if (!element) return;
    const style = getComputedStyle(element);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const spanMs = (timesMs.at(-1) ?? 0) - (timesMs[0] ?? 0);
    const tip = document.createElement("div");
    tip.className = classes.tip ?? "";
    const axis = {
      stroke: color("--text-2"),
      grid: { stroke: color("--line-soft"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui",
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [
          {
            ...axis,
            space: 70,
            size: 26,
            values: (_plot, at) =>
              at.map((s) => (spanMs > DAY_MS ? formatExact(s * 1000, zone).slice(5, 10) : formatClock(s * 1000, zone).slice(0, 5))),
          },
          { ...axis, size: 64, incrs: [...steps], values: (_plot, at) => at.map(format) },
        ],
        series: [
          {},
          ...series.map(({ name, color: variable, fill, values }) => ({
            label: name,
            stroke: color(variable),
            width: 1.5,
            ...(fill && { fill: `${color(variable)}22` }),
            // A single point would draw no line.
            points: { show: true, size: 5, filter: (_plot: uPlot, _at: number, show: boolean) => (show ? loneIndexes(values) : []) },
          })),
        ],
        hooks: {
          draw: [(drawn) => drawMarks(drawn, marks, color)],
          setCursor: [
            ({ cursor: { idx, left = 0 }, over }) => {
              const at = idx === null || idx === undefined ? undefined : timesMs[idx];
              tip.style.display = at === undefined ? "none" : "block";
              if (at === undefined || idx === null || idx === undefined) return;
              const lines = series.map(({ name, values }) => `${name}  ${values[idx] == null ? "–" : format(values[idx])}`);
              const near = nearMarks(marks, timesMs, idx);
              tip.textContent = [formatExact(at, zone), ...lines, ...near.map(({ text }) => `▲ ${text}`)].join("\n");
              const right = left > over.clientWidth / 2;
              tip.style.left = right ? "" : `${left + 60}px`;
              tip.style.right = right ? `${over.clientWidth - left + 12}px` : "";
            },
          ],
        },
      },
      [timesMs.map((ms) => ms / 1000), ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
      element,
    );
    element.append(tip);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      tip.remove();
    };
  }, [timesMs, series, marks, height, format, steps, zone, colorScheme]);
  return <div ref={home} />;
}

/** The places of values without a known value next to them. */
const loneIndexes = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, at) => (value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : []));
