import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Search } from "./search.ts";

/** The filters of a page, which are in its query string. */
export interface Filters<Name extends string> {
  readonly values: Readonly<Record<Name, string>>;
  /** The filters that are set, for a request. The same object while nothing changes. */
  readonly query: Readonly<Partial<Record<Name, string>>>;
  readonly isEmpty: boolean;
  readonly set: (name: Name, value: string) => void;
  readonly clear: () => void;
}

/** `useFilters("state", "queue")`. A change replaces the address, so that Back leaves the page. */
export function useFilters<Name extends string>(...names: readonly Name[]): Filters<Name> {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const key = JSON.stringify(names.map((name) => [name, search[name] ?? ""]));
  const values = useMemo(() => Object.fromEntries(JSON.parse(key) as [Name, string][]) as Record<Name, string>, [key]);
  const query = useMemo(
    () => Object.fromEntries((JSON.parse(key) as [Name, string][]).filter(([, value]) => value !== "")) as Partial<Record<Name, string>>,
    [key],
  );
  const change = useCallback(
    (changed: Search) =>
      void navigate({ to: ".", search: (old: Search) => ({ ...old, ...changed }), replace: true, resetScroll: false } as never),
    [navigate],
  );
  const set = useCallback((name: Name, value: string) => change({ [name]: value }), [change]);
  const clear = () => change(Object.fromEntries(names.map((name) => [name, ""])));
  return { values, query, isEmpty: Object.keys(query).length === 0, set, clear };
}
