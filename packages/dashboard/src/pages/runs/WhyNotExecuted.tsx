import type { RunExplanation, RunGateName } from "@tidemill/contract";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import classes from "./RunPage.module.css";

/** What the page says of a run without it. */
const SHOWN: readonly RunGateName[] = ["steps", "code", "version"];

/** Why a run is not being executed, if its page does not say so otherwise. */
export function WhyNotExecuted({ runId }: { runId: string }) {
  const { data, error, refetch } = useRecord<RunExplanation>("runs", `/runs/${encodeURIComponent(runId)}/explain`);
  if (error && !data) return <ErrorState error={error} what="why the run is not executed" onRetry={refetch} />;
  if (!data || (data.status !== "pending" && data.heldBy.every((gate) => SHOWN.includes(gate)))) return null;
  return (
    <p className={classes.why} role="note" aria-label="Why it is not running">
      {data.summary}
    </p>
  );
}
