import { type Database, type Db, momentMs, typeId, type WorkspaceId } from "#kernel";
import { CHAIN_START, hashOf } from "./hash.ts";
import { type Link, linksOf } from "./links.ts";
import { type ChainedEvent, type ChainHead, findHead, freezeAuditLog, listChainsAcrossWorkspaces } from "./store.ts";

/** The first place where a chain is broken. */
interface BrokenLink {
  readonly seq: number;
  /** The event's id (aud_…), or null when the event does not exist. */
  readonly id: string | null;
  /**
   * `altered`: the event was changed. `missing`: it was deleted. `added`: the service did not write it. `dropped_early`: it is recorded
   * as dropped by retention, but it had not expired.
   */
  readonly problem: "altered" | "missing" | "added" | "dropped_early";
}

/** The head of a workspace's chain at an earlier verification. */
export interface NotedHead {
  /** The workspace's id: ws_… */
  readonly workspace: string;
  readonly head: { readonly seq: number; readonly hash: string };
}

/** The result for a workspace's chain. If the head is kept outside the database, a later verification shows a chain that was rewritten. */
export interface ChainReport extends NotedHead {
  /** How many events were read. */
  readonly events: number;
  readonly broken: BrokenLink | null;
}

/**
 * Verifies the audit logs of all workspaces, or of one. It checks each chain from its beginning to its head: every field of each
 * event, its position and its expiry. A gap is accepted only where retention recorded that it dropped exactly these events, and the
 * event after them, or the head, says that they had expired.
 *
 * This detects a change unless its author also rewrote all later events, the head and the recorded drops. Heads that were kept
 * outside the database detect that too: the chain must still contain them.
 *
 * @param noted heads from earlier verifications
 * @returns a report for each workspace, and for each noted chain that no longer exists; none when there is no such workspace
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
  const head = (await findHead(tx, workspaceId)) ?? NO_HEAD;
  const report = { workspace: typeId("ws", workspaceId), head: { seq: head.seq, hash: head.hash.toString("hex") } };
  let events = 0;
  let at: Link = { from: 0, to: 0, previous: CHAIN_START, hash: CHAIN_START, event: null, droppedAt: null };
  let newest: ChainedEvent | null = null;
  for await (const link of linksOf(tx, workspaceId)) {
    if (link.event) events += 1;
    const broken = breakAt(workspaceId, at, link, head) ?? breakOf(noted, link);
    if (broken) return { ...report, events, broken };
    at = link;
    newest = link.event ?? newest;
  }
  return { ...report, events, broken: breakAtEnd(at, head, noted) ?? earlyAtEnd(at, head, newest) };
}

const NO_HEAD: ChainHead = { seq: 0, hash: CHAIN_START, expires_at: "-infinity", created_at: null, retention_days: null };
const DAY_MS = 86_400_000;

function breakAt(workspaceId: WorkspaceId, before: Link, link: Link, head: ChainHead): BrokenLink | null {
  if (link.from <= before.to || link.to > head.seq) return broken("added", link.from, link);
  if (link.from > before.to + 1) return broken("missing", before.to + 1);
  if (link.event && !hashOf(workspaceId, link.event).equals(link.hash)) return broken("altered", link.from, link);
  if (link.previous.equals(before.hash)) return link.event && earlyDrop(before, link.event.previous_expires_at);
  // This link is unchanged, so it names the original hash of the one before it. That one was altered.
  return before.to === 0 ? broken("altered", link.from, link) : broken("altered", before.to, before);
}

/** A noted head within events that were dropped since cannot be checked. */
const breakOf = (noted: NotedHead["head"] | null, link: Link): BrokenLink | null =>
  noted && noted.seq === link.to && noted.hash !== link.hash.toString("hex") ? broken("altered", link.to, link) : null;

function breakAtEnd(last: Link, head: ChainHead, noted: NotedHead["head"] | null): BrokenLink | null {
  if (last.to < Math.max(head.seq, noted?.seq ?? 0)) return broken("missing", last.to + 1);
  return last.hash.equals(head.hash) ? null : broken("altered", last.to, last);
}

/**
 * Whether the last events of a chain were dropped before they expired. No later event confirms their expiry, and the head is not hashed. So
 * they must also be old enough by the workspace's retention. A change of the retention records an event, so the retention already applied
 * when the last of them was written. That was after the newest event that is left, or after the workspace was created.
 */
function earlyAtEnd(last: Link, head: ChainHead, newest: ChainedEvent | null): BrokenLink | null {
  const early = earlyDrop(last, head.expires_at);
  if (early || last.droppedAt === null || head.created_at === null) return early;
  const keptForMs = head.retention_days === null ? Number.POSITIVE_INFINITY : head.retention_days * DAY_MS;
  const writtenMs = momentMs(newest?.occurred_at ?? head.created_at);
  return writtenMs + keptForMs > momentMs(last.droppedAt) ? broken("dropped_early", last.to) : null;
}

/** @param expiresAt when the last of these events expires */
const earlyDrop = (link: Link, expiresAt: string): BrokenLink | null =>
  link.droppedAt !== null && expiresAt > link.droppedAt ? broken("dropped_early", link.to) : null;

const broken = (problem: BrokenLink["problem"], seq: number, link?: Link): BrokenLink => ({
  seq,
  id: link?.event ? typeId("aud", link.event.id) : null,
  problem,
});
