import { useParams } from "@tanstack/react-router";
import type { QueueWithMetrics } from "@tidemill/contract";
import { useRecord } from "../../api/use-record.ts";
import { formatDuration } from "../../time/format.ts";
import { describeAttempts } from "../../ui/describe-attempts.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { MetricCharts } from "../../ui/metrics/MetricCharts.tsx";
import { type Tile, Tiles } from "../../ui/metrics/Tiles.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Section } from "../../ui/Section.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { conditionOf } from "./condition.ts";
import { QueueActions } from "./QueueActions.tsx";
import { LABELS } from "./settings.ts";
import { useServed } from "./use-served.ts";
import { Warnings } from "./Warnings.tsx";

/** A queue: what is in it, how fast it is, and its settings. */
export default function QueuePage() {
  const { queue: name = "" } = useParams({ strict: false }) as { queue?: string };
  const { data: queue, error, refetch } = useRecord<QueueWithMetrics>("queues", `/queues/${encodeURIComponent(name)}`);
  const served = useServed();
  const condition = queue && conditionOf(queue, served);
  return (
    <PageFrame
      title={name}
      above={<WsLink to="queues">Queues</WsLink>}
      beside={condition && <StateBadge state={condition.label} tone={condition.tone} />}
      actions={queue && <QueueActions queue={queue} />}
    >
      {error ? (
        <ErrorState error={error} what="the queue" onRetry={refetch} />
      ) : !queue ? (
        <LoadingState what="the queue" />
      ) : (
        <>
          <Warnings queue={queue} served={served} />
          <Tiles tiles={tilesOf(queue)} />
          <MetricCharts queue={name} />
          <Settings queue={queue} />
        </>
      )}
    </PageFrame>
  );
}

function tilesOf({ name, metrics }: QueueWithMetrics): Tile[] {
  const jobs = (state: "waiting" | "active" | "delayed" | "pending_approval" | "failed") => (
    <WsLink to={state === "failed" ? "dead-letters" : "jobs"} query={state === "failed" ? { queue: name } : { queue: name, state }}>
      {metrics[state].toLocaleString("en")}
    </WsLink>
  );
  const { oldest_waiting_seconds: oldest, latency_ms: latency } = metrics;
  return [
    { name: "Waiting", value: jobs("waiting"), about: oldest === null ? null : `the oldest for ${formatDuration(oldest * 1_000)}` },
    { name: "Active", value: jobs("active") },
    { name: "Delayed", value: jobs("delayed") },
    ...(metrics.pending_approval > 0 ? [{ name: "Approvals pending", value: jobs("pending_approval"), tone: "warn" as const }] : []),
    { name: "Failed", value: jobs("failed"), tone: metrics.failed_last_minute > 0 ? "bad" : undefined },
    { name: "Completed in a minute", value: metrics.completed_last_minute.toLocaleString("en") },
    {
      name: "Latency",
      value: latency.p50 === null ? "–" : formatDuration(latency.p50),
      about: latency.p99 === null ? "nothing completed in the last minute" : `p99 ${formatDuration(latency.p99)}`,
    },
  ];
}

function Settings({ queue }: { queue: QueueWithMetrics }) {
  const { callback_url, callback_headers, callback_timeout, defaultJobOptions, concurrency, concurrency_per_key, rate_limit, approval } =
    queue;
  const headers = Object.keys(callback_headers);
  return (
    <Section title="Settings">
      <Facts
        facts={[
          ["Callback URL", callback_url ?? "none: workers take the jobs"],
          callback_url === null ? null : ["Headers", headers.length > 0 ? headers.join(", ") : "none"],
          callback_url === null ? null : ["Timeout of a callback", `${callback_timeout} s`],
          ["Attempts", describeAttempts(defaultJobOptions.attempts, defaultJobOptions.backoff.delay)],
          [LABELS.concurrency, concurrency === null ? "any number" : String(concurrency)],
          [LABELS.concurrency_per_key, String(concurrency_per_key)],
          ["Rate limit", rate_limit === null ? "none" : `at most ${rate_limit.max} starts in ${rate_limit.per_seconds} s`],
          approval === null
            ? null
            : [
                "Approval",
                approval.timeout === null ? "waits without a time limit" : `${approval.on_timeout}ed after ${approval.timeout} s`,
              ],
          ["Created", <Time key="c" at={queue.created_at} />],
          ["Changed", <Time key="u" at={queue.updated_at} />],
        ]}
      />
    </Section>
  );
}
