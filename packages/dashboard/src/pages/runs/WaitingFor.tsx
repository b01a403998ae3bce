import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useWorkspace } from "../../app/workspace.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { CompleteSignal } from "./CompleteSignal.tsx";
import classes from "./RunPage.module.css";
import type { RunRecord } from "./timeline/rows.ts";

type Wait = RunRecord["waitingFor"][number];

/** What a run waits for, and what would let it continue. */
export function WaitingFor({ run }: { run: RunRecord }) {
  const [signal, setSignal] = useState<string | null>(null);
  const { may } = useWorkspace();
  return (
    <>
      {run.waitingFor.length > 0 && (
        <ul className={classes.waits} aria-label="What the run waits for">
          {run.waitingFor.map((wait) => (
            <li key={`${wait.type} ${wait.step}`} className={classes.wait} data-type={wait.type}>
              <span className={classes.waitText}>{describe(wait)}</span>
              {wait.type === "signal" && wait.signal !== undefined && may("write") && (
                <Button variant="light" onClick={() => setSignal(wait.signal ?? null)}>
                  Complete the signal
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {/* It stays when the run continues in the meantime, because somebody types in it. */}
      <CompleteSignal signal={signal} onClose={() => setSignal(null)} />
    </>
  );
}

function describe(wait: Wait): ReactNode {
  const { type, step, until, signal, runId, timeoutAt, method, url, attempt, attempts, nextAttemptAt, lastError, version, reason } = wait;
  switch (type) {
    case "sleep":
      return (
        <>
          Sleeps in <b>{step}</b>, wakes <Time at={until} />
        </>
      );
    case "signal":
      return (
        <>
          Waits for the signal <code>{signal}</code> in <b>{step}</b>
          {timeoutAt && (
            <>
              , times out <Time at={timeoutAt} />
            </>
          )}
        </>
      );
    case "invoke":
      return (
        <>
          Waits for the run{" "}
          {runId && (
            <WsLink to="runs/$run" params={{ run: runId }}>
              {runId}
            </WsLink>
          )}{" "}
          in <b>{step}</b>, times out <Time at={timeoutAt} />
        </>
      );
    case "http":
      return (
        <>
          Calls {method} <code>{url}</code> in <b>{step}</b>, attempt {attempt} of {attempts}
          {nextAttemptAt && (
            <>
              ; next <Time at={nextAttemptAt} />
            </>
          )}
          {lastError && ` (${lastError.message})`}
        </>
      );
    case "worker":
      return (
        <>
          Is due, and kept for a worker of version <b>{version}</b>
        </>
      );
    case "undo":
      return (
        <>
          Its steps are still to be undone
          {nextAttemptAt && (
            <>
              ; next try <Time at={nextAttemptAt} />
            </>
          )}
          {lastError && ` (${lastError.message})`}
        </>
      );
    default:
      return (
        <>
          Waits for code that fits its journal
          {wait.retryAt && (
            <>
              , is tried again <Time at={wait.retryAt} />
            </>
          )}
          . {reason}
        </>
      );
  }
}
