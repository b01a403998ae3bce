import type { QueryClient, QueryFilters, QueryKey } from "@tanstack/react-query";

/** A request that was under way when something changed may have read old data: it is repeated after this time. Milliseconds. */
const AGAIN_MS = 1_000;

const isList = (key: QueryKey): boolean => key[1] === "list";
/** The queries of a list's pages, one for each page. */
const pagesOf = ([workspaceId, , kind, ...list]: QueryKey): QueryKey => [workspaceId, kind, "page", ...list];

/** Makes the queries of a workspace run again: those of some kinds, or all. Only queries whose data is shown run. */
export class Invalidator {
  readonly #client: QueryClient;
  readonly #workspaceId: string;
  /** The queries that were under way, by their hashes. */
  readonly #again = new Map<string, QueryKey>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: QueryClient, workspaceId: string) {
    this.#client = client;
    this.#workspaceId = workspaceId;
  }

  invalidate(kinds: readonly string[] | null): void {
    this.#ask({
      predicate: ({ queryKey }) => {
        const kind = queryKey[isList(queryKey) ? 2 : 1];
        return queryKey[0] === this.#workspaceId && (kinds === null || kinds.includes(String(kind)));
      },
    });
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #ask(filters: QueryFilters): void {
    const { predicate = () => true } = filters;
    for (const { queryHash, queryKey } of this.#client.getQueryCache().findAll({ ...filters, type: "active", fetchStatus: "fetching" })) {
      this.#again.set(queryHash, queryKey);
      this.#timer ??= setTimeout(() => this.#askAgain(), AGAIN_MS);
    }
    // They are not cancelled: a query that takes longer than a second would never end. Lists are requested page by page.
    void this.#client.invalidateQueries(
      { ...filters, predicate: (query) => !isList(query.queryKey) && predicate(query) },
      { cancelRefetch: false },
    );
  }

  #askAgain(): void {
    const again = [...this.#again.values()];
    this.#again.clear();
    this.#timer = undefined;
    for (const queryKey of again) {
      this.#ask({ queryKey, exact: true });
      const hasEnded = this.#client.isFetching({ queryKey, exact: true }) === 0;
      if (isList(queryKey) && hasEnded) this.#ask({ queryKey: pagesOf(queryKey) });
    }
  }
}
