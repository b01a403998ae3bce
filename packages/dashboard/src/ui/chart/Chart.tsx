import { Component, lazy, type ReactNode, Suspense } from "react";
import classes from "./Chart.module.css";
import { type ChartProps, showCount } from "./chart-props.ts";
import { describeSeries } from "./describe-series.ts";

const Plot = lazy(() => import("./Plot.tsx"));

/** Series over time, with marks laid over them. Its code is loaded when the first one is shown. */
export function Chart(props: ChartProps) {
  const { label, height = 160, series, marks = [], format = showCount } = props;
  const shown = series.map((one) => describeSeries(one, format));
  return (
    <figure className={classes.figure} aria-label={`${label}. ${shown.join(". ")}.`}>
      <figcaption className={classes.caption}>
        <span className={classes.label}>{label}</span>
        {series.map(({ name, color }) => (
          <span key={name} className={classes.key}>
            <span className={classes.dot} style={{ background: `var(${color})` }} />
            {name}
          </span>
        ))}
      </figcaption>
      <div style={{ height }} className={classes.plot}>
        <WithoutPlot>
          <Suspense>
            <Plot {...props} height={height} />
          </Suspense>
        </WithoutPlot>
      </div>
      {marks.length > 0 && <span className={classes.marks}>{marks.length === 1 ? "1 change" : `${marks.length} changes`}</span>}
    </figure>
  );
}

/** A chart that cannot be drawn leaves the page as it is. */
class WithoutPlot extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? <p>This chart cannot be drawn in this browser.</p> : this.props.children;
  }
}
