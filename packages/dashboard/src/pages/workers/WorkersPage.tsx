import type { WorkerRecord } from "@tidemill/contract";
import { useRecord } from "../../api/use-record.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";

export default function WorkersPage() {
  const { data, error, refetch } = useRecord<{ data: WorkerRecord[] }>("workers", "/workers");
  return (
    <PageFrame title="Workers">
      {error ? (
        <ErrorState error={error} what="the workers" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the workers" />
      ) : data.data.length === 0 ? (
        <EmptyState title="No worker has asked for work in the last 15 minutes">
          Queues without a callback_url, and workflows, are served by workers: programs that ask for jobs.
        </EmptyState>
      ) : (
        <ul>
          {data.data.map(({ name }) => (
            <li key={name}>{name}</li>
          ))}
        </ul>
      )}
    </PageFrame>
  );
}
