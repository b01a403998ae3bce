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
    const concerns = (key: QueryKey) =>
      key[0] === this.#workspaceId && key[1] !== "list" && (kinds === null || kinds.includes(String(key[1])));
    const predicate = ({ queryKey }: { queryKey: QueryKey }) => concerns(queryKey);
    // Not cancelled: one that takes longer than a second would never end.
    const busy = this.#client.getQueryCache().findAll({ type: "active", fetchStatus: "fetching", predicate });
    if (busy.length > 0) this.#askAgain(kinds);
    void this.#client.invalidateQueries({ predicate }, { cancelRefetch: false });
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
