import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { Changes, Metrics } from "@tidemill/contract";
import { useWorkspace } from "../../app/workspace.tsx";
import { nowMs, toMoment } from "../../time/clock.ts";
import type { Range } from "./ranges.ts";

/** Values by the minute change while a person watches, values by the day hardly do. Milliseconds. */
const refreshOf = ({ ms }: Range): number => (ms <= 6 * 3_600_000 ? 10_000 : 60_000);

/** Reads metrics of the last hour, day or week, and requests them again from time to time while the tab is shown. */
function useRange<T>(path: string, queue: string | undefined, range: Range): UseQueryResult<T> {
  const { id, api } = useWorkspace();
  return useQuery({
    queryKey: [id, "settled", path, queue ?? null, range.value],
    queryFn: ({ signal }) => api.get<T>(path, { query: { queue, from: toMoment(nowMs() - range.ms) }, signal }),
    refetchInterval: refreshOf(range),
  });
}

export const useMetrics = (queue: string | undefined, range: Range): UseQueryResult<Metrics> => useRange("/metrics", queue, range);

export const useChanges = (queue: string | undefined, range: Range): UseQueryResult<Changes> => useRange("/changes", queue, range);
