import { SegmentedControl } from "@mantine/core";
import type { Metrics } from "@tidemill/contract";
import { useMemo } from "react";
import { useFilters } from "../../app/use-filters.ts";
import { toMs } from "../../time/clock.ts";
import { formatRough } from "../../time/format.ts";
import { DURATION_STEPS } from "../chart/axis-steps.ts";
import { Chart } from "../chart/Chart.tsx";
import type { ChartSeries } from "../chart/chart-props.ts";
import { ErrorState } from "../ErrorState.tsx";
import { LoadingState } from "../LoadingState.tsx";
import { Section } from "../Section.tsx";
import { Time } from "../Time.tsx";
import { describeChange, markOf } from "./describe-change.ts";
import classes from "./MetricCharts.module.css";
import { RANGES, rangeOf } from "./ranges.ts";
import { useChanges, useMetrics } from "./use-metrics.ts";

const SHOWN_CHANGES = 12;
const DURATION = { format: formatRough, steps: DURATION_STEPS };

/** What happened over time, in one queue or in all of them, with marks for changes. The range is in the address. */
export function MetricCharts({ queue }: { queue?: string }) {
  const filters = useFilters("range");
  const range = rangeOf(filters.values.range);
  const metrics = useMetrics(queue, range);
  const changes = useChanges(queue, range);
  const marks = useMemo(() => changes.data?.data.map(markOf) ?? [], [changes.data]);
  return (
    <Section
      title="Over time"
      beside={
        <SegmentedControl
          aria-label="Range"
          size="xs"
          value={range.value}
          onChange={(value) => filters.set("range", value)}
          data={RANGES.map(({ value, label }) => ({ value, label }))}
        />
      }
    >
      {metrics.error ? (
        <ErrorState error={metrics.error} what="the metrics" onRetry={metrics.refetch} />
      ) : !metrics.data ? (
        <LoadingState what="the metrics" />
      ) : (
        <Charts metrics={metrics.data} marks={marks} />
      )}
      {changes.error ? (
        <ErrorState error={changes.error} what="what changed" onRetry={changes.refetch} />
      ) : (
        changes.data && <ChangeList changes={changes.data} />
      )}
    </Section>
  );
}

function Charts({ metrics: { data }, marks }: { metrics: Metrics; marks: ReturnType<typeof markOf>[] }) {
  const timesMs = useMemo(() => data.map(({ at }) => toMs(at)), [data]);
  const [jobs, failures, latency, oldest] = useMemo(
    () =>
      [
        [
          { name: "Enqueued", color: "--info", values: data.map(({ enqueued }) => enqueued) },
          { name: "Completed", color: "--good", fill: true, values: data.map(({ completed }) => completed) },
        ],
        [
          { name: "Failed for good", color: "--bad", fill: true, values: data.map(({ failed }) => failed) },
          { name: "Tried again", color: "--warn", values: data.map(({ retried }) => retried) },
        ],
        [
          { name: "p50", color: "--accent", values: data.map(({ latency_ms }) => latency_ms.p50) },
          { name: "p99", color: "--warn", values: data.map(({ latency_ms }) => latency_ms.p99) },
        ],
        [
          {
            name: "Longest wait",
            color: "--rest",
            fill: true,
            values: data.map(({ oldest_waiting_seconds }) => toMillis(oldest_waiting_seconds)),
          },
        ],
      ] satisfies ChartSeries[][],
    [data],
  );
  return (
    <div className={classes.charts}>
      <Chart label="Jobs" timesMs={timesMs} series={jobs ?? []} marks={marks} />
      <Chart label="Failures" timesMs={timesMs} series={failures ?? []} marks={marks} />
      <Chart label="Latency, from due to completed" timesMs={timesMs} series={latency ?? []} marks={marks} {...DURATION} />
      <Chart label="Longest waiting job" timesMs={timesMs} series={oldest ?? []} marks={marks} {...DURATION} />
    </div>
  );
}

const toMillis = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1_000);

function ChangeList({ changes: { data, truncated } }: { changes: NonNullable<ReturnType<typeof useChanges>["data"]> }) {
  if (data.length === 0) return <p className={classes.note}>Nothing was deployed, paused or changed in this period.</p>;
  return (
    <Section title="What changed">
      <ul className={classes.changes}>
        {data.slice(0, SHOWN_CHANGES).map((change, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: changes have no id, and the list is short.
          <li key={`${change.at} ${at}`} className={classes.change}>
            <span className={classes.when}>
              <Time at={change.at} />
            </span>
            <span>{describeChange(change)}</span>
          </li>
        ))}
      </ul>
      {(truncated || data.length > SHOWN_CHANGES) && (
        <p className={classes.note}>
          {truncated ? `More than ${data.length}` : data.length} changes in this period; these are the newest {SHOWN_CHANGES}.
        </p>
      )}
    </Section>
  );
}
