import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { auth } from "../../api/api.ts";
import { sessionQuery } from "../../api/session.ts";
import { briefly } from "../../api/use-refresh.ts";

/** Reads something of the person's own account. */
export const useOwn = <T>(path: string): UseQueryResult<T> =>
  useQuery({ queryKey: ["own", path], queryFn: ({ signal }) => auth.get<T>(path, { signal }) });

/** Asks again for the session, and for what the account page shows. */
export function useOwnChanged(): () => Promise<unknown> {
  const client = useQueryClient();
  return () => briefly(Promise.all([client.invalidateQueries(sessionQuery), client.invalidateQueries({ queryKey: ["own"] })]));
}
