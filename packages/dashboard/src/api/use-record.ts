import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useWorkspace } from "../app/workspace.tsx";
import type { Kind } from "./kinds.ts";
import type { Read } from "./raw-json.ts";
import type { Query } from "./request.ts";

/** Reads a resource of the workspace. It is requested again when records of its kind change. */
export function useRecord<T>(
  kind: Kind,
  path: string,
  { query, enabled = true }: { query?: Query; enabled?: boolean } = {},
): UseQueryResult<Read<T>> {
  const { id, api } = useWorkspace();
  return useQuery({
    queryKey: [id, kind, path, query ?? {}],
    queryFn: ({ signal }) => api.get<Read<T>>(path, { query, signal }),
    enabled,
  });
}
