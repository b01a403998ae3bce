import { type InfiniteData, useInfiniteQuery, useQueries, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useWorkspace } from "../app/workspace.tsx";
import type { Kind } from "./kinds.ts";
import { countNew, mergePages, type Page } from "./merge-pages.ts";
import type { Query } from "./request.ts";
import type { Rows } from "./rows.ts";

/** Rows of one request. */
const PAGE_SIZE = 100;
/** Only rows that stay visible for this long are requested again, so that rows that are scrolled past are not. Milliseconds. */
const REST_MS = 150;

export interface KeysetListOptions<T> {
  readonly kind: Kind;
  readonly path: string;
  readonly query?: Query;
  readonly idOf: (record: T) => string;
  readonly enabled?: boolean;
}

export interface KeysetList<T> {
  /** Undefined until the first page is there. */
  readonly rows: Rows<T> | undefined;
  readonly error: unknown;
  readonly hasMore: boolean;
  /** The last page that was loaded, with its fields other than the records. */
  readonly lastPage: Page<T> | undefined;
  readonly isLoadingMore: boolean;
  /** Whether the last request for more rows failed. */
  readonly moreError: unknown;
  readonly loadMore: () => void;
  /** How many new records there are since the list was loaded, at most a page of them. */
  readonly newCount: number;
  /** Loads the list again from its top. */
  readonly reload: () => void;
  /** Tells the list which rows are shown, so that it requests them again. */
  readonly onVisible: (from: number, to: number) => void;
}

/**
 * A list of records that is loaded page by page. Rows never move by themselves. When records of the kind change, the visible rows are
 * requested again and updated in place. New records are counted, and shown by `reload`.
 */
export function useKeysetList<T>({ kind, path, query = {}, idOf, enabled = true }: KeysetListOptions<T>): KeysetList<T> {
  const { id: workspaceId, api } = useWorkspace();
  const client = useQueryClient();
  const fetchPage = (cursor: string | null, signal: AbortSignal) =>
    api.get<Page<T>>(path, { query: { limit: PAGE_SIZE, ...query, cursor }, signal });
  // The key does not contain the kind: otherwise an event would load all pages of the list again.
  const listKey = [workspaceId, "list", kind, path, query];
  const { data, error, failureReason, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage, dataUpdatedAt } =
    useInfiniteQuery({
      queryKey: listKey,
      queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
      initialPageParam: null as string | null,
      getNextPageParam: ({ next_cursor }) => next_cursor,
      staleTime: Number.POSITIVE_INFINITY,
      enabled,
    });
  const pages = data?.pages ?? [];
  const [shown, setShown] = useState<readonly number[]>([0]);
  const asked = [...new Set([0, ...shown])].filter((at) => at < pages.length);
  const newest = useQueries({
    queries: asked.map((at) => {
      const cursor = (data?.pageParams[at] ?? null) as string | null;
      return {
        // A reloaded page has a query of its own: the query of the old page may still hold old records.
        queryKey: [workspaceId, kind, "page", path, query, cursor, numberOf(pages[at] as Page<T>)],
        queryFn: ({ signal }: { signal: AbortSignal }) => fetchPage(cursor, signal),
        initialData: pages[at] as Page<T>,
        initialDataUpdatedAt: dataUpdatedAt,
      };
    }),
    combine: dataOf<T>,
  });
  const askedText = asked.join();
  const rows = useMemo(() => {
    const newestPages = newest();
    const fresh = new Map(
      askedText.split(",").flatMap((at, index) => (newestPages[index] ? [[Number(at), newestPages[index]] as const] : [])),
    );
    return data && mergePages(data.pages, fresh, idOf);
  }, [data, newest, askedText, idOf]);
  const [top] = newest();
  const newCount = useMemo(() => (rows && top ? countNew(rows, top, idOf) : 0), [rows, top, idOf]);
  const reload = () => {
    client.removeQueries({ queryKey: [workspaceId, kind, "page", path] });
    client.setQueryData<InfiniteData<Page<T>, string | null>>(
      listKey,
      (old) => old && { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) },
    );
    // A reload that is abandoned because the person leaves the page happens when the list is shown again.
    void client.invalidateQueries({ queryKey: listKey, exact: true });
  };
  const newestRows = useRef(rows);
  newestRows.current = rows;
  const resting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(resting.current), []);
  const onVisible = useCallback((from: number, to: number) => {
    clearTimeout(resting.current);
    resting.current = setTimeout(() => {
      const first = newestRows.current?.pageOf(from) ?? 0;
      const last = newestRows.current?.pageOf(to) ?? 0;
      setShown((old) => (old[0] === first && old.at(-1) === last ? old : Array.from({ length: last - first + 1 }, (_, at) => first + at)));
    }, REST_MS);
  }, []);
  return {
    rows,
    // Said while it is tried again, too.
    error: data ? null : (error ?? failureReason),
    hasMore: hasNextPage,
    lastPage: pages.at(-1),
    isLoadingMore: isFetchingNextPage,
    moreError: isFetchNextPageError ? error : null,
    // It would end a reload that is under way.
    loadMore: () => void fetchNextPage({ cancelRefetch: false }),
    newCount,
    reload,
    onVisible,
  };
}

const numbers = new WeakMap<object, number>();
let lastNumber = 0;
/** The same for the same loaded page. */
function numberOf(page: object): number {
  const number = numbers.get(page) ?? ++lastNumber;
  numbers.set(page, number);
  return number;
}

/** A function: two arrays would be compared record by record, and what differs copied, each time that other pages are shown. */
const dataOf =
  <T>(results: { data: Page<T> | undefined }[]) =>
  (): (Page<T> | undefined)[] =>
    results.map(({ data }) => data);
