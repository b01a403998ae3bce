import type { ListedQueue, Status } from "@tidemill/contract";
import { useRecord } from "../../api/use-record.ts";
import { formatDuration } from "../../time/format.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { MetricCharts } from "../../ui/metrics/MetricCharts.tsx";
import { rangeOf } from "../../ui/metrics/ranges.ts";
import { type Tile, Tiles } from "../../ui/metrics/Tiles.tsx";
import { useMetrics } from "../../ui/metrics/use-metrics.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { FirstSteps } from "./FirstSteps.tsx";
import { Health } from "./Health.tsx";

const HOUR = rangeOf("1h");
const QUEUES = { query: { include: "metrics", limit: 100 } };
/** When this part of the month's executions is used, the quota needs attention. */
const NEARLY_USED = 0.9;

/** The first page of a workspace: its current condition. */
export default function OverviewPage() {
  const { data: status, error, refetch } = useRecord<Status>("jobs", "/status");
  return (
    <PageFrame title="Overview" beside={status && <StateBadge state={status.status} />}>
      {error ? (
        <ErrorState error={error} what="the status" onRetry={refetch} />
      ) : !status ? (
        <LoadingState what="the status" />
      ) : (
        <>
          <Health status={status} />
          {status.queues === 0 && <FirstSteps />}
          <Numbers status={status} />
        </>
      )}
      <MetricCharts />
    </PageFrame>
  );
}

function Numbers({ status: { jobs, quota, queues: count } }: { status: Status }) {
  const queues = useRecord<{ data: ListedQueue[] }>("queues", "/queues", QUEUES);
  const hour = useMetrics(undefined, HOUR);
  const failed = hour.data?.data.reduce((sum, step) => sum + step.failed, 0);
  const tiles: Tile[] = [
    { name: "Waiting", value: number(jobs.waiting), about: `${number(jobs.active)} active, ${number(jobs.delayed)} delayed` },
    oldestOf(queues.data?.data, count),
    circuitsOf(queues.data?.data, count),
    {
      name: "Failed in the last hour",
      value: failed === undefined ? (hour.error ? "unknown" : "…") : number(failed),
      about: <WsLink to="dead-letters">{number(jobs.failed)} dead letters</WsLink>,
      tone: failed ? "bad" : undefined,
    },
    {
      name: "Approvals pending",
      value: number(jobs.pending_approval),
      about: jobs.pending_approval > 0 && <WsLink to="approvals">Decide them</WsLink>,
      tone: jobs.pending_approval > 0 ? "warn" : undefined,
    },
    {
      name: "Executions this month",
      value: number(quota.used),
      about: quota.limit === null ? "without a limit" : `of ${number(quota.limit)}; ${number(quota.remaining ?? 0)} left`,
      tone: quota.limit !== null && quota.used >= quota.limit * NEARLY_USED ? (quota.remaining === 0 ? "bad" : "warn") : undefined,
    },
  ];
  return (
    <>
      <Tiles tiles={tiles} />
      {queues.error && <ErrorState error={queues.error} what="the queues" onRetry={queues.refetch} />}
    </>
  );
}

const number = (value: number): string => value.toLocaleString("en");

/** Says so when there are more queues than were requested. */
const ofNewest = (queues: readonly unknown[], count: number): string =>
  count > queues.length ? ` (of the newest ${queues.length} queues)` : "";

function oldestOf(queues: readonly ListedQueue[] | undefined, count: number): Tile {
  const name = "Oldest waiting job";
  if (!queues) return { name, value: "…" };
  const waits = queues.flatMap(({ name: queue, metrics }) =>
    metrics?.oldest_waiting_seconds == null ? [] : [{ queue, seconds: metrics.oldest_waiting_seconds }],
  );
  const [oldest] = waits.sort((a, b) => b.seconds - a.seconds);
  if (!oldest) return { name, value: "none", about: ofNewest(queues, count) };
  return {
    name,
    value: formatDuration(oldest.seconds * 1_000),
    about: (
      <>
        in{" "}
        <WsLink to="queues/$queue" params={{ queue: oldest.queue }}>
          {oldest.queue}
        </WsLink>
        {ofNewest(queues, count)}
      </>
    ),
  };
}

function circuitsOf(queues: readonly ListedQueue[] | undefined, count: number): Tile {
  const name = "Open circuits";
  if (!queues) return { name, value: "…" };
  const open = queues.filter(({ circuit }) => circuit?.state === "open");
  return {
    name,
    value: number(open.length),
    tone: open.length > 0 ? "bad" : undefined,
    about: (
      <>
        {open.slice(0, 3).map(({ name: queue }) => (
          <span key={queue}>
            <WsLink to="queues/$queue" params={{ queue }}>
              {queue}
            </WsLink>{" "}
          </span>
        ))}
        {ofNewest(queues, count)}
      </>
    ),
  };
}
