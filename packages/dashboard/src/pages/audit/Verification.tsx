import { Button, Group } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { Page } from "../../api/merge-pages.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { showCount } from "../usage/numbers.ts";
import classes from "./audit.module.css";
import { type BrokenLink, brokenLink, type ChainedEvent } from "./verify-chain.ts";

interface Progress {
  readonly events: number;
  readonly newest: ChainedEvent;
  /** The earliest event that was verified. */
  readonly earliest: ChainedEvent;
  readonly broken: BrokenLink | null;
  /** Where to continue; null at the end of the log. */
  readonly cursor: string | null;
}

/** After this many events, it waits for the person: a log may be long, and each hundred events take a request. */
const MAX_EVENTS = 10_000;

/** Verifies the chain of the audit log in the browser, from the newest event back. It uses only what the service sends. */
export function Verification() {
  const { api } = useWorkspace();
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<unknown>(null);
  const running = useRef<AbortController | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => () => running.current?.abort(), []);
  const verify = async (from: Progress | null) => {
    const stop = new AbortController();
    running.current = stop;
    setBusy(true);
    setError(null);
    try {
      const until = (from?.events ?? 0) + MAX_EVENTS;
      let at = from;
      do {
        const query = { limit: 100, ...(at && { cursor: at.cursor }) };
        const page: Page<ChainedEvent> = await api.get("/audit-events", { query, signal: stop.signal });
        at = addPage(at, page);
        setProgress(at);
      } while (at && at.cursor !== null && at.broken === null && at.events < until);
    } catch (problem) {
      if (!stop.signal.aborted) setError(problem);
    }
    setBusy(false);
  };
  const canGoOn = progress !== null && progress.cursor !== null && progress.broken === null;
  return (
    <div className={classes.verification}>
      <Group>
        <Button loading={busy} onClick={() => void verify(canGoOn ? progress : null)}>
          {canGoOn ? "Verify earlier events" : "Verify the chain"}
        </Button>
        {busy && <Button onClick={() => running.current?.abort()}>Stop</Button>}
        <output aria-live="polite">{progress && <Result progress={progress} busy={busy} />}</output>
      </Group>
      {error !== null && <ErrorState error={error} what="more events" title="The verification stopped" />}
    </div>
  );
}

function Result({ progress: { events, newest, earliest, broken, cursor }, busy }: { progress: Progress; busy: boolean }) {
  if (broken) {
    return (
      <span className={classes.broken}>
        The chain is broken at event {showCount(broken.seq)}. {broken.problem}
      </span>
    );
  }
  const range = `${showCount(events)} events, ${showCount(earliest.seq)} to ${showCount(newest.seq)}`;
  if (busy) return <span>{range}: unbroken so far…</span>;
  const isWhole = earliest.seq === 1;
  return (
    <span className={classes.whole}>
      {range}: the chain is unbroken
      {cursor !== null ? " so far" : isWhole ? ", from its beginning" : "; earlier ones were dropped by retention"}. The newest hash is{" "}
      <code>{newest.hash.slice(0, 16)}…</code>
    </span>
  );
}

/** Pages come newest first: each event is followed by the one that was verified before it. */
function addPage(before: Progress | null, { data, next_cursor: cursor }: Page<ChainedEvent>): Progress | null {
  let progress = before && { ...before, cursor };
  for (const event of data) {
    const broken = brokenLink(event, progress?.earliest ?? null);
    progress = { events: (progress?.events ?? 0) + 1, newest: progress?.newest ?? event, earliest: event, broken, cursor };
    if (broken) return progress;
  }
  return progress;
}
