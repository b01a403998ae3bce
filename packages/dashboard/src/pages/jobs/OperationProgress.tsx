import { CloseButton, Progress } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Operation } from "@tidemill/contract";
import { useEffect } from "react";
import { mayRecover } from "../../api/api-error.ts";
import { useFilters } from "../../app/use-filters.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { notifyFailure } from "../../ui/notices.ts";
import { RequestButton } from "../../ui/RequestButton.tsx";
import { MANY } from "./actions.ts";
import classes from "./jobs.module.css";

const LOOK_EVERY_MS = 500;

/** An operation that is gone or refused is not requested again automatically. */
const isFinal = (error: Error | null): boolean => error !== null && !mayRecover(error);

/** How far the operation in the address is. */
export function OperationProgress() {
  const { id: workspace, api, may } = useWorkspace();
  const client = useQueryClient();
  const { values, set } = useFilters("operation");
  const id = values.operation;
  const { data, error, refetch } = useQuery({
    queryKey: [workspace, "operation", id],
    queryFn: ({ signal }) => api.get<Operation>(`/operations/${encodeURIComponent(id)}`, { signal }),
    enabled: id !== "",
    refetchInterval: ({ state: { data, error } }) => ((data && data.state !== "running") || isFinal(error) ? false : LOOK_EVERY_MS),
  });
  const ended = data !== undefined && data.state !== "running";
  useEffect(() => {
    if (ended) void client.invalidateQueries({ queryKey: [workspace, "jobs"] });
  }, [ended, workspace, client]);
  if (id === "") return null;
  if (!data || (!ended && isFinal(error))) return error ? <ErrorState error={error} what="the operation" onRetry={refetch} /> : null;
  const { verb, under, done } = MANY[data.action];
  const count = (jobs: number) => jobs.toLocaleString("en");
  const handled = data.done + data.skipped;
  const cancel = () =>
    api
      .post(`/operations/${id}/cancel`)
      .then(() => refetch())
      .catch((problem: unknown) => notifyFailure("Not stopped", problem));
  const of = `${data.matched_exact ? "" : "at least "}${count(data.matched)}`;
  const skipped = data.skipped > 0 ? ` ${count(data.skipped)} had moved on before.` : "";
  return (
    <section className={classes.operation} aria-label={`${verb} many jobs`}>
      <p className={classes.operationText} role="status">
        {data.state === "running" && `${under}: ${count(data.done)} of ${of}.`}
        {data.state === "completed" && `${count(data.done)} ${data.done === 1 ? "job" : "jobs"} ${done}.`}
        {data.state === "cancelled" && `Stopped: ${count(data.done)} of ${of} ${done}.`}
        {skipped}
      </p>
      <Progress
        value={ended ? 100 : data.matched === 0 ? 0 : Math.min(100, (100 * handled) / data.matched)}
        className={classes.progress}
        aria-label="Progress"
      />
      {ended ? (
        <CloseButton aria-label="Close" onClick={() => set("operation", "")} />
      ) : (
        may("write") && <RequestButton onRequest={cancel}>Stop</RequestButton>
      )}
    </section>
  );
}
