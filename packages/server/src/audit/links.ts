import type { Db, WorkspaceId } from "#kernel";
import { type ChainedEvent, type DroppedStretch, listChained, listDropped } from "./store.ts";

const PAGE = 500;

/** An event, or consecutive events that were dropped. The first follows `previous`, the last has `hash`. */
export interface Link {
  readonly from: number;
  readonly to: number;
  readonly previous: Buffer;
  readonly hash: Buffer;
  readonly event: ChainedEvent | null;
  /** When the events were dropped. */
  readonly droppedAt: string | null;
}

/** The events and the recorded drops of a chain, in order. */
export async function* linksOf(tx: Db, workspaceId: WorkspaceId): AsyncGenerator<Link> {
  const dropped = await listDropped(tx, workspaceId);
  for await (const event of eventsOf(tx, workspaceId)) {
    for (let next = dropped[0]; next && next.from_seq <= event.seq; next = dropped[0]) {
      yield stretch(next);
      dropped.shift();
    }
    yield { from: event.seq, to: event.seq, previous: event.previous, hash: event.hash, event, droppedAt: null };
  }
  for (const rest of dropped) yield stretch(rest);
}

const stretch = ({ from_seq, to_seq, previous, hash, dropped_at }: DroppedStretch): Link => ({
  from: from_seq,
  to: to_seq,
  previous,
  hash,
  event: null,
  droppedAt: dropped_at,
});

async function* eventsOf(tx: Db, workspaceId: WorkspaceId): AsyncGenerator<ChainedEvent> {
  let after: Pick<ChainedEvent, "seq" | "expires_at"> | undefined = { seq: 0, expires_at: "-infinity" };
  while (after) {
    const page: ChainedEvent[] = await listChained(tx, workspaceId, after, PAGE);
    yield* page;
    after = page.length === PAGE ? page.at(-1) : undefined;
  }
}
