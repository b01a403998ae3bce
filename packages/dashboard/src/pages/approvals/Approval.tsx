import { Button, Group, Kbd } from "@mantine/core";
import type { Job, JobWithLog, PendingJob } from "@tidemill/contract";
import { useEffect, useState } from "react";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { JsonText } from "../../ui/json/JsonText.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import classes from "./ApprovalsPage.module.css";
import { Deadline } from "./Deadline.tsx";
import { DecideDialog, type Ruling } from "./DecideDialog.tsx";
import { Difference } from "./Difference.tsx";
import { JobLink } from "./JobLink.tsx";
import { pathOf } from "./path-of.ts";

interface ApprovalProps {
  /** A job of the inbox also has its deadline. */
  readonly job: Read<Job> & Partial<Read<PendingJob>>;
  readonly onDecided: () => void;
}

/** A job that waits for a decision, or on which somebody has decided meanwhile. Keys: `a` approves, `r` rejects. */
export function Approval({ job, onDecided }: ApprovalProps) {
  const { may } = useWorkspace();
  const [ruling, setRuling] = useState<Ruling | null>(null);
  const { data: now, refetch } = useRecord<JobWithLog>("approvals", pathOf(job));
  const isPending = (now ?? job).state === "pending_approval";
  const canDecide = isPending && may("write");
  useEffect(() => {
    if (!canDecide) return;
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey || event.defaultPrevented || isTyping(target)) return;
      const chosen = key === "a" ? "approve" : key === "r" ? "reject" : null;
      if (!chosen) return;
      event.preventDefault();
      setRuling(chosen);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [canDecide]);
  return (
    <article className={classes.detail} aria-label={`Job ${job.id}`}>
      {!isPending && <Decided job={now ?? job} />}
      <Group mb="sm">
        <Button variant="filled" disabled={!canDecide} onClick={() => setRuling("approve")}>
          Approve
        </Button>
        <Button color="red" variant="light" disabled={!canDecide} onClick={() => setRuling("reject")}>
          Reject
        </Button>
        {canDecide ? (
          <span className={classes.keys}>
            <Kbd size="xs">a</Kbd> approves, <Kbd size="xs">r</Kbd> rejects
          </span>
        ) : (
          isPending && <span>Your role does not allow decisions.</span>
        )}
      </Group>
      <Facts
        facts={[
          ["Job", <JobLink key="id" id={job.id} />, "wide"],
          [
            "Queue",
            <WsLink key="queue" to="queues/$queue" params={{ queue: job.queue }}>
              {job.queue}
            </WsLink>,
          ],
          job.schedule === null ? null : ["Schedule", job.schedule],
          job.tag === null ? null : ["Tag", job.tag],
          ["Enqueued", <Time key="at" at={job.created_at} />],
          job.decide_at === undefined
            ? null
            : [
                "If nobody decides",
                job.decide_at === null ? "it waits" : <Timeout key="timeout" at={job.decide_at} verb={job.on_timeout} />,
              ],
        ]}
      />
      <Section title="Payload">
        <JsonText value={job.payload} label="payload" none="null" />
      </Section>
      <Difference job={job} />
      {ruling && (
        <DecideDialog
          job={job}
          ruling={ruling}
          onClose={() => setRuling(null)}
          onDecided={() => {
            setRuling(null);
            onDecided();
          }}
          onTooLate={() => void refetch()}
        />
      )}
    </article>
  );
}

function Timeout({ at, verb }: { at: string; verb: PendingJob["on_timeout"] | undefined }) {
  return (
    <>
      {verb === "approve" ? "approved" : "rejected"} <Deadline at={at} />
    </>
  );
}

/** Somebody else was quicker, or the deadline. */
function Decided({ job: { state, approval } }: { job: Read<Job> }) {
  if (approval === null)
    return <output className={classes.decided}>It no longer waits for a decision: it is {state.replaceAll("_", " ")}.</output>;
  return (
    <output className={classes.decided}>
      It was {approval.decision} {approval.by === null ? "by its deadline, or without a name" : `by ${approval.by}`},{" "}
      <Time at={approval.decided_at} />
      {approval.comment ? `: “${approval.comment}”` : "."}
    </output>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  !!(target as HTMLElement | null)?.closest?.(
    "input:not([type=checkbox]), textarea, select, [contenteditable=true], [role=dialog], [role=menu]",
  );
