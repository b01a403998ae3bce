import type { QueryClient, QueryKey } from "@tanstack/react-query";

/** A request that was under way when something changed may have read what was there before: it is made again after this. Milliseconds. */
const AGAIN_MS = 1_000;

/** Makes the queries of a workspace ask again: those of some kinds, or all. Only what is shown is asked for. */
export class Invalidator {
  readonly #client: QueryClient;
  readonly #workspaceId: string;
  #again: Set<string> | "all" = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: QueryClient, workspaceId: string) {
    this.#client = client;
    this.#workspaceId = workspaceId;
  }

  invalidate(kinds: readonly string[] | null): void {
    const isList = ({ queryKey }: { queryKey: QueryKey }) => queryKey[1] === "list";
    const concerns = ({ queryKey: [workspaceId, kind, kindOfList] }: { queryKey: QueryKey }) =>
      workspaceId === this.#workspaceId && (kinds === null || kinds.includes(String(kind === "list" ? kindOfList : kind)));
    // Not cancelled: one that takes longer than a second would never end.
    const busy = this.#client.getQueryCache().findAll({ type: "active", fetchStatus: "fetching", predicate: concerns });
    if (busy.length > 0) this.#askAgain(kinds);
    // A list is not loaded again: its pages that are shown are asked for by queries of their own.
    void this.#client.invalidateQueries({ predicate: (query) => concerns(query) && !isList(query) }, { cancelRefetch: false });
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #askAgain(kinds: readonly string[] | null): void {
    if (kinds === null || this.#again === "all") this.#again = "all";
    else for (const kind of kinds) this.#again.add(kind);
    this.#timer ??= setTimeout(() => {
      const again = this.#again;
      this.#timer = undefined;
      this.#again = new Set();
      this.invalidate(again === "all" ? null : [...again]);
    }, AGAIN_MS);
  }
}
