import { QueryClient } from "@tanstack/react-query";
import { mayRecover } from "../api/api-error.ts";

/** Query keys begin with `[workspaceId, kind, …]`: what is live makes all queries of a kind ask again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 300_000,
      retry: (failures, error) => failures < 2 && mayRecover(error),
      refetchOnWindowFocus: true,
    },
  },
});
