import { Button } from "@mantine/core";
import type { PendingJob } from "@tidemill/contract";
import { type KeyboardEvent, useRef } from "react";
import type { Read } from "../../api/raw-json.ts";
import type { KeysetList } from "../../api/use-keyset-list.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./ApprovalsPage.module.css";
import { Deadline } from "./Deadline.tsx";

interface InboxProps {
  readonly list: KeysetList<Read<PendingJob>>;
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
}

/** More of a payload fits into no line. */
const SHOWN_CHARS = 120;

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** The jobs that wait, newest first. Arrow keys, j and k move between them. */
export function Inbox({ list, chosen, onChoose }: InboxProps) {
  const items = useRef<HTMLUListElement>(null);
  const rows = [...(list.rows ?? [])];
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const at = rows.findIndex(({ id }) => id === chosen);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
    if (!next) return;
    onChoose(next.id);
    items.current?.querySelector<HTMLElement>(`[data-job="${next.id}"]`)?.focus();
  };
  return (
    <section className={classes.inbox} aria-label="Jobs that wait for a decision">
      {list.newCount > 0 && (
        <Button
          fullWidth
          variant="light"
          onClick={() => {
            items.current?.scrollTo(0, 0);
            list.reload();
          }}
        >
          {list.newCount} new
        </Button>
      )}
      <ul ref={items} className={classes.items} onKeyDown={onKeyDown}>
        {rows.map(({ id, record: { queue, tag, schedule, payload, created_at, decide_at }, gone }) => (
          <li key={id}>
            <button
              type="button"
              className={classes.item}
              data-job={id}
              data-gone={gone || undefined}
              aria-current={id === chosen}
              onClick={() => onChoose(id)}
            >
              <span className={classes.queue}>{queue}</span>
              <span>
                {gone
                  ? "decided"
                  : decide_at && (
                      <>
                        due <Deadline at={decide_at} />
                      </>
                    )}
              </span>
              <span className={classes.about}>
                {schedule ?? tag ?? id} · <Time at={created_at} />
              </span>
              {payload && <code className={classes.payload}>{payload.text.slice(0, SHOWN_CHARS)}</code>}
            </button>
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <Button fullWidth variant="subtle" loading={list.isLoadingMore} onClick={list.loadMore}>
          More
        </Button>
      )}
      {list.moreError ? <ErrorState error={list.moreError} what="more approvals" onRetry={list.loadMore} /> : null}
    </section>
  );
}
