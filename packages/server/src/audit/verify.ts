import { type Database, type Db, typeId, type WorkspaceId } from "#kernel";
import { CHAIN_START, hashOf } from "./hash.ts";
import {
  type ChainedEvent,
  type ChainHead,
  type DroppedStretch,
  findHead,
  freezeAuditLog,
  listChained,
  listChainsAcrossWorkspaces,
  listDropped,
} from "./store.ts";

/** Where a chain first does not hold. */
interface BrokenLink {
  readonly seq: number;
  /** The event's id: aud_…; null when it is not there. */
  readonly id: string | null;
  /** `altered`: not as it was written. `missing`: gone before its time. `added`: not written by the service. */
  readonly problem: "altered" | "missing" | "added";
}

/** Where a workspace's chain ended when it was verified. */
export interface NotedHead {
  /** The workspace's id: ws_… */
  readonly workspace: string;
  readonly head: { readonly seq: number; readonly hash: string };
}

/** What was found of a workspace's chain. Its head, noted elsewhere, shows later whether the chain was made anew as a whole. */
export interface ChainReport extends NotedHead {
  /** Events that were read. */
  readonly events: number;
  readonly broken: BrokenLink | null;
}

const PAGE = 500;

/**
 * Reads the audit logs of all workspaces, or of one, and checks that each chain holds from its beginning to its head: every field
 * of an event, its order, its expiry. A gap is accepted only where retention noted that it dropped just that.
 *
 * That shows tampering by whoever cannot write all that follows, the head and the notes of drops included. Against others there are
 * heads that were noted elsewhere: a chain must still pass through its own.
 *
 * @returns a report per workspace, and for each noted chain of which nothing is left; none when there is no such workspace
 */
export async function verifyAuditAcrossWorkspaces(
  database: Database,
  only: WorkspaceId | null,
  noted: readonly NotedHead[] = [],
): Promise<ChainReport[]> {
  const heads = new Map(noted.map(({ workspace, head }) => [workspace, head]));
  const reports: ChainReport[] = [];
  for (const { id } of await listChainsAcrossWorkspaces(database, only)) {
    reports.push(
      await database.transaction(async (tx) => {
        await freezeAuditLog(tx);
        return verifyChain(tx, id, heads.get(typeId("ws", id)) ?? null);
      }),
    );
  }
  const gone = noted.filter(
    ({ workspace }) => (only === null || workspace === typeId("ws", only)) && !reports.some((one) => one.workspace === workspace),
  );
  return [...reports, ...gone.map(({ workspace, head }) => ({ workspace, head, events: 0, broken: broken("missing", head.seq) }))];
}

async function verifyChain(tx: Db, workspaceId: WorkspaceId, noted: NotedHead["head"] | null): Promise<ChainReport> {
  const head = (await findHead(tx, workspaceId)) ?? { seq: 0, hash: CHAIN_START };
  const report = { workspace: typeId("ws", workspaceId), head: { seq: head.seq, hash: head.hash.toString("hex") } };
  let events = 0;
  let at: Link = { from: 0, to: 0, previous: CHAIN_START, hash: CHAIN_START, event: null };
  for await (const link of linksOf(tx, workspaceId)) {
    if (link.event) events += 1;
    const broken = breakAt(workspaceId, at, link, head) ?? breakOf(noted, link);
    if (broken) return { ...report, events, broken };
    at = link;
  }
  return { ...report, events, broken: breakAtEnd(at, head, noted) };
}

/** An event, or a stretch that was dropped: it goes on from `previous` and ends in `hash`. */
interface Link {
  readonly from: number;
  readonly to: number;
  readonly previous: Buffer;
  readonly hash: Buffer;
  readonly event: ChainedEvent | null;
}

function breakAt(workspaceId: WorkspaceId, before: Link, link: Link, head: ChainHead): BrokenLink | null {
  if (link.from <= before.to || link.to > head.seq) return broken("added", link.from, link);
  if (link.from > before.to + 1) return broken("missing", before.to + 1);
  if (link.event && !hashOf(workspaceId, link.event).equals(link.hash)) return broken("altered", link.from, link);
  if (link.previous.equals(before.hash)) return null;
  // What goes on from another hash than the one before has is as it was written: that one was written anew.
  return before.to === 0 ? broken("altered", link.from, link) : broken("altered", before.to, before);
}

/** Of what was noted within a stretch that was dropped since, nothing can be said. */
const breakOf = (noted: NotedHead["head"] | null, link: Link): BrokenLink | null =>
  noted && noted.seq === link.to && noted.hash !== link.hash.toString("hex") ? broken("altered", link.to, link) : null;

function breakAtEnd(last: Link, head: ChainHead, noted: NotedHead["head"] | null): BrokenLink | null {
  if (last.to < Math.max(head.seq, noted?.seq ?? 0)) return broken("missing", last.to + 1);
  return last.hash.equals(head.hash) ? null : broken("altered", last.to, last);
}

const broken = (problem: BrokenLink["problem"], seq: number, link?: Link): BrokenLink => ({
  seq,
  id: link?.event ? typeId("aud", link.event.id) : null,
  problem,
});

/** The events and the dropped stretches of a chain, in its order. */
async function* linksOf(tx: Db, workspaceId: WorkspaceId): AsyncGenerator<Link> {
  const dropped = await listDropped(tx, workspaceId);
  for await (const event of eventsOf(tx, workspaceId)) {
    for (let next = dropped[0]; next && next.from_seq <= event.seq; next = dropped[0]) {
      yield stretch(next);
      dropped.shift();
    }
    yield { from: event.seq, to: event.seq, previous: event.previous, hash: event.hash, event };
  }
  for (const rest of dropped) yield stretch(rest);
}

const stretch = ({ from_seq, to_seq, previous, hash }: DroppedStretch): Link => ({
  from: from_seq,
  to: to_seq,
  previous,
  hash,
  event: null,
});

async function* eventsOf(tx: Db, workspaceId: WorkspaceId): AsyncGenerator<ChainedEvent> {
  let after: Pick<ChainedEvent, "seq" | "expires_at"> | undefined = { seq: 0, expires_at: "-infinity" };
  while (after) {
    const page: ChainedEvent[] = await listChained(tx, workspaceId, after, PAGE);
    yield* page;
    after = page.length === PAGE ? page.at(-1) : undefined;
  }
}
