import { CloseButton } from "@mantine/core";
import { Duration } from "../../ui/Duration.tsx";
import { JsonText } from "../../ui/json/JsonText.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import classes from "./RunPage.module.css";
import { runsOfStep, type StepRecord } from "./timeline/rows.ts";

/** What a step did: its times, its error or output, the runs that it started. */
export function StepDetail({ step, onClose }: { step: StepRecord; onClose: () => void }) {
  const { key, type, status, attempt, startedAt, endedAt, wakeAt, signal, error, output, undoable } = step;
  return (
    <aside className={classes.detail} aria-label={`Step ${key}`}>
      <div className={classes.detailHead}>
        <h3 className={classes.detailTitle}>{key}</h3>
        <CloseButton size="sm" aria-label="Close the step" onClick={onClose} />
      </div>
      <dl className={classes.lines}>
        <dt>Status</dt>
        <dd>
          <StateBadge state={status} />
        </dd>
        <dt>Type</dt>
        <dd>{type}</dd>
        <dt>Attempt</dt>
        <dd>{attempt}</dd>
        <dt>Began</dt>
        <dd>
          <Time at={startedAt} exact />
        </dd>
        <dt>Took</dt>
        <dd>
          <Duration from={startedAt} to={endedAt} />
        </dd>
        {wakeAt && (
          <>
            <dt>{type === "sleep" ? "Wakes" : "Times out"}</dt>
            <dd>
              <Time at={wakeAt} exact />
            </dd>
          </>
        )}
        {signal && (
          <>
            <dt>Signal</dt>
            <dd>
              <code>{signal}</code>
            </dd>
          </>
        )}
        {undoable && (
          <>
            <dt>Undo</dt>
            <dd>is called if the run fails or is cancelled</dd>
          </>
        )}
        {runsOfStep(step).map((run) => (
          <StartedRun key={run} run={run} />
        ))}
      </dl>
      {error && (
        <p className={classes.error}>
          <strong>{error.name}</strong> {error.message}
        </p>
      )}
      {status === "completed" && <JsonText value={output ?? null} label="output" none="The step returned nothing." />}
    </aside>
  );
}

function StartedRun({ run }: { run: string }) {
  return (
    <>
      <dt>Run</dt>
      <dd>
        <WsLink to="runs/$run" params={{ run }}>
          {run}
        </WsLink>
      </dd>
    </>
  );
}
