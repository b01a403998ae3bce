import { useCallback, useRef, useState } from "react";
import { idsOf, type RowsByPlace } from "../../api/rows.ts";

/** The selected rows of a list. Shift selects from the last one that was clicked. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly toggle: (id: string, shift: boolean, rows: RowsByPlace<unknown>) => void;
  readonly set: (ids: Iterable<string>) => void;
  readonly clear: () => void;
}

export function useSelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const anchor = useRef<string | null>(null);
  const toggle = useCallback((id: string, shift: boolean, rows: RowsByPlace<unknown>) => {
    // React may execute the update later, when there is another anchor.
    const last = anchor.current;
    anchor.current = id;
    setIds((old) => {
      const next = new Set(old);
      const select = !old.has(id);
      const order = shift ? idsOf(rows) : [];
      const from = last === null ? -1 : order.indexOf(last);
      const at = order.indexOf(id);
      const range = from < 0 ? [id] : order.slice(Math.min(from, at), Math.max(from, at) + 1);
      for (const one of range) {
        if (select || from >= 0) next.add(one);
        else next.delete(one);
      }
      return next;
    });
  }, []);
  const set = useCallback((given: Iterable<string>) => setIds(new Set(given)), []);
  const clear = useCallback(() => setIds(new Set()), []);
  return { ids, toggle, set, clear };
}
