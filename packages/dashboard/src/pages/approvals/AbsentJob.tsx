import type { UseQueryResult } from "@tanstack/react-query";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";

interface AbsentJobProps {
  readonly id: string;
  /** The request that reads it. */
  readonly query: Pick<UseQueryResult, "data" | "error" | "refetch">;
}

/** Shown instead of a job that is being loaded, could not be loaded, or does not exist. */
export function AbsentJob({ id, query: { data, error, refetch } }: AbsentJobProps) {
  if (error) return <ErrorState error={error} what="the job" onRetry={refetch} />;
  if (!data) return <LoadingState what="the job" />;
  return <EmptyState title="There is no such job">{id} is not in this workspace. It may have been removed.</EmptyState>;
}
