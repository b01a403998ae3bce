import { QueryClient } from "@tanstack/react-query";
import { mayRecover } from "../api/api-error.ts";
import { chance } from "../live/chance.ts";

/**
 * A random delay spreads pages that were refused together. It is drawn only once: a query whose interval changes starts to wait again, so
 * with a new delay for each rendering, a page that renders often would never send a request. Milliseconds.
 */
const ASK_AGAIN_MS = 5_000 * (1 + chance() / 4);

/** Query keys begin with `[workspaceId, kind, …]`: live updates make all queries of a kind run again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 300_000,
      retry: (failures, error) => failures < 2 && mayRecover(error),
      refetchOnWindowFocus: true,
      // A query that failed is repeated until the service is back. Live updates refresh the data that is shown.
      refetchInterval: ({ state: { data, error } }) => (data === undefined && error && mayRecover(error) ? ASK_AGAIN_MS : false),
    },
  },
});
