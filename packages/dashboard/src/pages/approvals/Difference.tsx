import type { Job } from "@tidemill/contract";
import { useMemo } from "react";
import type { Page } from "../../api/merge-pages.ts";
import type { RawJson, Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./ApprovalsPage.module.css";
import { type DiffLine, diffLines, textLines } from "./diff-lines.ts";
import { JobLink } from "./JobLink.tsx";

/** How many earlier jobs of the queue are searched for one of the same schedule. */
const SEARCHED = 100;

/** How the payload differs from that of the previous job: of the same schedule, otherwise with the same tag. */
export function Difference({ job }: { job: Read<Job> }) {
  const { schedule, tag } = job;
  const query = { cursor: job.id, ...(schedule === null ? { tag: tag ?? "", limit: 1 } : { limit: SEARCHED }) };
  const { data, error, refetch } = useRecord<Page<Job>>("settled", `/queues/${encodeURIComponent(job.queue)}/jobs`, {
    query,
    enabled: schedule !== null || tag !== null,
  });
  if (schedule === null && tag === null) return null;
  const previous = data?.data.find((one) => schedule === null || one.schedule === schedule);
  const like = schedule === null ? `with the tag ${tag}` : `of the schedule ${schedule}`;
  return (
    <Section title={`Difference from the previous job ${like}`}>
      {error ? (
        <ErrorState error={error} what="the job before" onRetry={refetch} />
      ) : data && !previous ? (
        <p className={classes.note}>{schedule === null ? "There was none." : `There is none among the ${SEARCHED} jobs before it.`}</p>
      ) : (
        previous && (
          <>
            <p className={classes.note}>
              <JobLink id={previous.id} />, {previous.state.replaceAll("_", " ")}, <Time at={previous.created_at} />
            </p>
            <Lines before={previous.payload as RawJson | null} after={job.payload as RawJson | null} />
          </>
        )
      )}
    </Section>
  );
}

function Lines({ before, after }: { before: RawJson | null; after: RawJson | null }) {
  const lines = useMemo(() => diffLines(textLines(before?.text ?? "null"), textLines(after?.text ?? "null")), [before, after]);
  if (lines === null) return <p className={classes.note}>The payloads are too long to compare here.</p>;
  if (lines.every(({ change }) => change === "same")) return <p className={classes.note}>The payloads are the same.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section className={classes.diff} tabIndex={0} aria-label="Difference">
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one comparison never move.
        <div key={at} className={classes.line} data-change={line.change}>
          {MARKS[line.change]} {line.text}
        </div>
      ))}
    </section>
  );
}

const MARKS: Readonly<Record<DiffLine["change"], string>> = { same: " ", added: "+", removed: "−" };
