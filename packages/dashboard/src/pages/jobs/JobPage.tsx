import { useParams } from "@tanstack/react-router";
import type { Job, JobWithLog, Queue } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { toMs } from "../../time/clock.ts";
import { CopyableId } from "../../ui/CopyableId.tsx";
import { Duration } from "../../ui/Duration.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { JsonText } from "../../ui/json/JsonText.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Section } from "../../ui/Section.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { Attempts } from "./Attempts.tsx";
import { JobActions } from "./JobActions.tsx";
import type { JobRecord } from "./job-record.ts";
import classes from "./jobs.module.css";
import { noResult } from "./no-result.ts";
import { WhyNot } from "./WhyNot.tsx";

const UNFINISHED: readonly string[] = ["waiting", "delayed", "pending_approval", "active"];

/** A job: why it is not running, its attempts, its data. Its queue is found by its id. */
export default function JobPage() {
  const { job: id = "" } = useParams({ strict: false }) as { job?: string };
  const found = useRecord<{ data: Job[] }>("jobs", "/jobs", { query: { id } });
  const queue = found.data?.data[0]?.queue;
  const path = `/queues/${encodeURIComponent(queue ?? "")}/jobs/${encodeURIComponent(id)}`;
  const { data: job, error: failed, refetch } = useRecord<JobWithLog>("jobs", path, { enabled: queue !== undefined });
  const error = found.error ?? failed;
  const above = <WsLink to="jobs">Jobs</WsLink>;
  if (!job) {
    return (
      <PageFrame title="Job" above={above}>
        {error ? (
          <ErrorState error={error} what="the job" onRetry={() => void (found.error ? found.refetch() : refetch())} />
        ) : found.data && !queue ? (
          <EmptyState title="There is no such job">
            {id} is not in this workspace. It may have been removed, or the time for which finished jobs are kept has passed.
          </EmptyState>
        ) : (
          <LoadingState what="the job" />
        )}
      </PageFrame>
    );
  }
  return (
    <PageFrame
      title={job.queue}
      above={above}
      beside={
        <>
          <StateBadge state={job.state} />
          <CopyableId id={job.id} label="Copy the job's id" />
        </>
      }
      actions={<JobActions job={job} />}
    >
      {error && <ErrorState error={error} what="the newest state of the job" onRetry={refetch} />}
      {UNFINISHED.includes(job.state) && <WhyNot path={path} />}
      {job.last_error && job.state !== "completed" && (
        <p className={classes.error} role="note">
          <strong>
            {job.last_error.code}
            {job.last_error.status !== null && ` ${job.last_error.status}`}
          </strong>{" "}
          {job.last_error.message}{" "}
          <WsLink to="jobs" query={{ queue: job.queue, error_code: job.last_error.code }}>
            Jobs with this error
          </WsLink>
        </p>
      )}
      <JobFacts job={job} />
      <Section title="Attempts">
        <Attempts job={job} />
      </Section>
      <div className={classes.data}>
        <Section title="Payload">
          <JsonText value={job.payload ?? null} label="payload" none="null" />
        </Section>
        <Section title="Result">
          <JsonText value={job.result ?? null} label="result" none={noResult(job)} />
        </Section>
      </div>
    </PageFrame>
  );
}

function JobFacts({ job }: { job: JobRecord }) {
  const { data: called } = useRecord<Queue>("queues", `/queues/${encodeURIComponent(job.queue)}`);
  const { queue, attempt, attempts, priority, tag, concurrencyKey, idempotencyKey, schedule, scheduled_for, approval } = job;
  return (
    <Facts
      facts={[
        [
          "Queue",
          <WsLink key="q" to="queues/$queue" params={{ queue }}>
            {queue}
          </WsLink>,
        ],
        called?.callback_url ? ["Callback URL", <Called key="u" queue={called} job={job} />] : null,
        ["Attempt", `${attempt} of ${attempts}`],
        ["Enqueued", <Time key="c" at={job.created_at} />],
        job.state === "delayed" ? ["Due", <Time key="d" at={job.run_at} />] : null,
        job.started_at ? ["Last started", <Time key="s" at={job.started_at} />] : null,
        job.finished_at ? ["Finished", <Time key="f" at={job.finished_at} />] : null,
        [job.finished_at ? "Total time" : "Age", <Duration key="a" from={job.created_at} to={job.finished_at} />],
        priority === 0 ? null : ["Priority", String(priority)],
        tag
          ? [
              "Tag",
              <WsLink key="t" to="jobs" query={{ tag }}>
                {tag}
              </WsLink>,
            ]
          : null,
        concurrencyKey
          ? [
              "Concurrency key",
              <WsLink key="k" to="jobs" query={{ queue, concurrency_key: concurrencyKey }}>
                {concurrencyKey}
              </WsLink>,
            ]
          : null,
        idempotencyKey ? ["Idempotency key", idempotencyKey] : null,
        schedule
          ? [
              "Schedule",
              <WsLink key="h" to="schedules/$schedule" params={{ schedule }}>
                {schedule}
              </WsLink>,
            ]
          : null,
        scheduled_for ? ["Scheduled for", <Time key="sf" at={scheduled_for} exact />] : null,
        approval
          ? ["Decision", `${approval.decision}${approval.by ? ` by ${approval.by}` : ""}${approval.comment ? `: ${approval.comment}` : ""}`]
          : null,
      ]}
    />
  );
}

/** The address that the queue calls. Attempts before a change may have called another one. */
function Called({ queue: { callback_url, updated_at }, job }: { queue: Read<Queue>; job: JobRecord }) {
  const last = job.attempts_log.at(-1);
  const isLater = last !== undefined && toMs(updated_at) > toMs(last.started_at);
  return (
    <>
      {callback_url}
      {isLater && (
        <span className={classes.changed}>
          {" "}
          The queue was changed <Time at={updated_at} />, after the last attempt.
        </span>
      )}
    </>
  );
}
