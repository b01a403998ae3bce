import { useParams } from "@tanstack/react-router";
import type { Run } from "@tidemill/contract";
import { useMemo } from "react";
import { useRecord } from "../../api/use-record.ts";
import { useFilters } from "../../app/use-filters.ts";
import { toMs, useNow } from "../../time/clock.ts";
import { formatDuration } from "../../time/format.ts";
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
import { describeTrigger } from "./describe-trigger.ts";
import { noResult } from "./no-result.ts";
import { RunActions } from "./RunActions.tsx";
import classes from "./RunPage.module.css";
import { StepDetail } from "./StepDetail.tsx";
import { type Axis, foldIdle, type Span } from "./timeline/fold-idle.ts";
import { type RunRecord, rowsOf, type TimelineRow } from "./timeline/rows.ts";
import { Timeline } from "./timeline/Timeline.tsx";
import { WaitingFor } from "./WaitingFor.tsx";
import { WhyNotExecuted } from "./WhyNotExecuted.tsx";

/** A run: where it stands, what it waits for, its timeline, its data. */
export default function RunPage() {
  const { run: id = "" } = useParams({ strict: false }) as { run?: string };
  const { data: run, error, refetch } = useRecord<Run>("runs", `/runs/${encodeURIComponent(id)}`);
  const above = <WsLink to="runs">Runs</WsLink>;
  if (!run) {
    return (
      <PageFrame title={id} above={above}>
        {error ? <ErrorState error={error} what="the run" onRetry={refetch} /> : <LoadingState what="the run" />}
      </PageFrame>
    );
  }
  return (
    <PageFrame
      title={run.workflowId}
      above={above}
      beside={
        <>
          <StateBadge state={run.status} />
          <CopyableId id={run.runId} label="Copy the run's id" />
        </>
      }
      actions={<RunActions run={run} />}
    >
      {error && <ErrorState error={error} what="the newest state of the run" onRetry={refetch} />}
      <RunFacts run={run} />
      {run.error && (
        <p className={classes.error} role="note">
          <strong>{run.error.name}</strong> {run.error.message}
        </p>
      )}
      <WaitingFor run={run} />
      {run.endedAt === null && <WhyNotExecuted runId={run.runId} />}
      <RunTimeline run={run} />
      <div className={classes.data}>
        <Section title="Input">
          <JsonText value={run.input ?? null} label="input" none="No input." />
        </Section>
        <Section title="Result">
          <JsonText value={run.result ?? null} label="result" none={noResult(run)} />
        </Section>
      </div>
      {run.progress && (
        <Section title="Progress">
          <JsonText value={run.progress} label="progress" />
        </Section>
      )}
    </PageFrame>
  );
}

function RunFacts({ run }: { run: RunRecord }) {
  const { workflowId, version, attempt, attempts, trigger, parentRunId, idempotencyKey, createdAt, startedAt, endedAt, nextAttemptAt } =
    run;
  return (
    <Facts
      facts={[
        [
          "Workflow",
          <WsLink key="w" to="workflows/$workflow" params={{ workflow: workflowId }}>
            {workflowId}
          </WsLink>,
        ],
        [
          "Started by",
          parentRunId ? (
            <WsLink key="p" to="runs/$run" params={{ run: parentRunId }}>
              {parentRunId}
            </WsLink>
          ) : (
            describeTrigger(trigger)
          ),
        ],
        ["Version", version ?? "–"],
        ["Attempt", `${attempt} of ${attempts}`],
        ["Triggered", <Time key="c" at={createdAt} />],
        ["Waited to start", <Duration key="d" from={createdAt} to={startedAt} />],
        [endedAt ? "Took" : "Elapsed", <Duration key="t" from={startedAt} to={endedAt} />],
        nextAttemptAt ? ["Next attempt", <Time key="n" at={nextAttemptAt} />] : null,
        endedAt ? ["Ended", <Time key="e" at={endedAt} />] : null,
        idempotencyKey ? ["Idempotency key", idempotencyKey] : null,
      ]}
    />
  );
}

function RunTimeline({ run }: { run: RunRecord }) {
  const { values, set } = useFilters("step");
  const now = useNow();
  const ended = run.endedAt === null ? now : toMs(run.endedAt);
  const whole = useMemo(() => wholeOf(run, ended), [run, ended]);
  const rows = useMemo(() => rowsOf(run, now), [run, now]);
  const axis = useMemo(() => axisOf(rows, whole), [rows, whole]);
  const step = run.steps.find(({ key }) => key === values.step);
  const count = run.steps.length;
  return (
    <Section title="Timeline" beside={<span className={classes.count}>{[countOf(count, "step"), ...foldsOf(axis)].join(" · ")}</span>}>
      {count + run.hookErrors.length + run.undoErrors.length === 0 && run.nextAttemptAt === null ? (
        <EmptyState title="No step yet">A step is shown here as soon as its result is stored.</EmptyState>
      ) : (
        <div className={classes.timeline} data-detail={step !== undefined || undefined}>
          <Timeline rows={rows} axis={axis} whole={whole} selected={values.step} onSelect={(id) => set("step", id)} />
          {step && <StepDetail step={step} onClose={() => set("step", "")} />}
        </div>
      )}
    </Section>
  );
}

const countOf = (count: number, what: string): string => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

const axisOf = (rows: readonly TimelineRow[], whole: Span): Axis =>
  foldIdle(
    whole,
    rows.filter(({ isIdle }) => !isIdle).map(({ span }) => span),
  );

/** What the axis leaves out, in words. */
function foldsOf({ folds }: Axis): string[] {
  if (folds.length === 0) return [];
  const foldedMs = folds.reduce((sum, { from, to }) => sum + to - from, 0);
  return [`${countOf(folds.length, "pause")} folded: ${formatDuration(foldedMs)}`];
}

function wholeOf({ createdAt, steps, hookErrors, undoErrors }: RunRecord, endedMs: number) {
  const from = toMs(createdAt);
  let to = Math.max(endedMs, from);
  for (const { wakeAt, endedAt, type } of steps) {
    if (endedAt !== null) to = Math.max(to, toMs(endedAt));
    else if (type === "sleep" && wakeAt !== null) to = Math.max(to, toMs(wakeAt));
  }
  for (const { occurredAt } of [...hookErrors, ...undoErrors]) to = Math.max(to, toMs(occurredAt));
  return { from, to };
}
