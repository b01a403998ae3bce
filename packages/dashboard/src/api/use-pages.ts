import { useInfiniteQuery } from "@tanstack/react-query";
import type { Api } from "./api.ts";
import { mayRecover } from "./api-error.ts";
import type { Page } from "./merge-pages.ts";

export interface PagesOptions {
  readonly queryKey: readonly unknown[];
  /** Records of a page. */
  readonly limit: number;
  /** Milliseconds. Default: no automatic refetch. */
  readonly refetchInterval?: number;
}

/** The requested pages of a list, in order. */
export interface Pages<T> {
  /** Undefined while none is loaded. */
  readonly records: readonly T[] | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
  readonly hasMore: boolean;
  readonly loadMore: () => unknown;
  readonly isLoadingMore: boolean;
}

/** Reads a list that belongs to no workspace, page by page. */
export function usePages<T>(api: Api, path: string, { queryKey, limit, refetchInterval }: PagesOptions): Pages<T> {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...(refetchInterval !== undefined && {
      // A refused request is not repeated automatically.
      refetchInterval: ({ state: { data, error } }: { state: { data: unknown; error: Error | null } }) =>
        data === undefined && error && !mayRecover(error) ? false : refetchInterval,
    }),
    queryKey,
    queryFn: ({ pageParam, signal }) => api.get<Page<T>>(path, { query: { limit, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  return {
    records: data?.pages.flatMap((page) => page.data),
    error,
    refetch,
    hasMore: hasNextPage,
    loadMore: fetchNextPage,
    isLoadingMore: isFetchingNextPage,
  };
}
