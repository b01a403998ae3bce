import type { WorkerRecord } from "@tidemill/contract";
import { useMemo } from "react";
import { useRecord } from "../../api/use-record.ts";

const QUERY = { query: { limit: 100 } };

/** Names of the queues that workers have asked for in the last 15 minutes. Null while that is not known, or if there are too many to know. */
export function useServed(): ReadonlySet<string> | null {
  const { data } = useRecord<{ data: WorkerRecord[]; next_cursor: string | null }>("workers", "/workers", QUERY);
  return useMemo(() => (data && data.next_cursor === null ? new Set(data.data.flatMap(({ queues }) => queues)) : null), [data]);
}
