import { QueryClient } from "@tanstack/react-query";
import { mayRecover } from "../api/api-error.ts";
import { chance } from "../live/chance.ts";

/**
 * Chance spreads pages that were refused together. It is drawn once: a query whose interval changes begins to wait anew, and with
 * another one for each rendering a page that renders often would never ask. Milliseconds.
 */
const ASK_AGAIN_MS = 5_000 * (1 + chance() / 4);

/** Query keys begin with `[workspaceId, kind, …]`: what is live makes all queries of a kind ask again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 300_000,
      retry: (failures, error) => failures < 2 && mayRecover(error),
      refetchOnWindowFocus: true,
      // What could not be loaded is asked for again, until the service is back. What is shown is asked for by what is live.
      refetchInterval: ({ state: { data, error } }) => (data === undefined && error && mayRecover(error) ? ASK_AGAIN_MS : false),
    },
  },
});
