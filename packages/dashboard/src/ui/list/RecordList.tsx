import { Button } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import type { KeysetList } from "../../api/use-keyset-list.ts";
import { ErrorState } from "../ErrorState.tsx";
import { LoadingState } from "../LoadingState.tsx";
import classes from "./RecordList.module.css";
import { RowTable, type RowTableProps } from "./RowTable.tsx";

export interface RecordListProps<T> extends Omit<RowTableProps<T>, "rows" | "onVisible" | "onEnd"> {
  readonly list: KeysetList<T>;
  /** In errors: "Could not load the runs". */
  readonly what: string;
  /** Shown if the list is empty: an `EmptyState`. */
  readonly empty: ReactNode;
  /** Below the rows, instead of loading more automatically: for a list that was searched in part. `empty` must then offer to continue. */
  readonly foot?: ReactNode;
}

/** A list from `useKeysetList` as a table: loading, failed, empty, or rows, of which more are loaded near the end. */
export function RecordList<T>({ list, what, empty, foot, ...table }: RecordListProps<T>) {
  const top = useRef<HTMLDivElement>(null);
  const { rows, error, newCount, reload, hasMore, isLoadingMore, moreError, loadMore, onVisible } = list;
  // A page may have no records before the end of the list: its filters left out all that one request reads.
  const isSearching = !foot && rows !== undefined && rows.length === 0 && hasMore && !moreError;
  useEffect(() => {
    if (isSearching && !isLoadingMore) loadMore();
  });
  if (error) return <ErrorState error={error} what={what} onRetry={reload} />;
  if (!rows || isSearching) return <LoadingState what={what} />;
  const showNew = () => {
    top.current?.scrollIntoView({ block: "nearest" });
    reload();
  };
  return (
    <>
      <div ref={top} className={classes.top} />
      {newCount > 0 && (
        <div className={classes.bar} role="status">
          <Button variant="light" onClick={showNew}>
            {newCount} new
          </Button>
        </div>
      )}
      {rows.length === 0 ? (
        empty
      ) : (
        <RowTable {...table} rows={rows} onVisible={onVisible} onEnd={hasMore && !moreError && !foot ? loadMore : undefined} />
      )}
      {moreError ? <ErrorState error={moreError} what="more rows" onRetry={loadMore} /> : null}
      {rows.length > 0 && foot}
      <p className={classes.foot} role="status">
        {isLoadingMore ? "Loading more…" : rows.length > 0 && !hasMore ? "That is all." : ""}
      </p>
    </>
  );
}
