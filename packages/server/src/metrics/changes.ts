import { CHANGE_TYPES, type Change, type Changes, type ChangesQuery, type ChangeType, MAX_CHANGES } from "@tidemill/contract";
import { type AuditRow, listAuditEvents } from "#audit";
import { type Db, invalid, momentMs, toMoment, type WorkspaceId } from "#kernel";
import { findTerms, listCircuitChanges, listDeploys } from "./store.ts";

const HOUR_MS = 3_600_000;
/** Types of changes that are also types of audit events. Pauses of queues are `queue.updated`. */
const AUDITED = CHANGE_TYPES.filter(
  (type) => !["deploy", "circuit.opened", "circuit.closed", "queue.paused", "queue.resumed"].includes(type),
);

/**
 * What changed in a range: deploys, circuits, and pauses and settings from the audit log. Readers see names of settings, not their values.
 *
 * @throws VALIDATION_ERROR for an invalid range
 */
export async function readChanges(db: Db, workspaceId: WorkspaceId, query: ChangesQuery): Promise<Changes> {
  // What happens in this millisecond is in the range.
  const to = query.to ?? toMoment((await findTerms(db, workspaceId)).nowMs + 1);
  const from = query.from ?? toMoment(momentMs(to) - HOUR_MS);
  if (momentMs(from) >= momentMs(to)) throw invalid("from", "must be before `to`");
  const queue = query.queue ?? null;
  const range = { workspaceId, from, to, limit: MAX_CHANGES + 1 };
  const deploys = await listDeploys(db, { ...range, before: null });
  const circuits = await listCircuitChanges(db, { ...range, queue });
  const events = await listAuditEvents(db, {
    ...range,
    eventTypes: queue === null ? AUDITED : AUDITED.filter((type) => type.startsWith("queue.")),
    resourceTypes: null,
    actorIds: null,
    resourceId: queue,
    before: null,
  });
  // The log has more events in the range than are read.
  const isCut = events.some(({ reached }) => reached !== null);
  const changes: Change[] = [
    ...deploys.map(
      ({ created_at, name, version, actor_id }): Change => ({ at: created_at, type: "deploy", name, version, settings: [], actor_id }),
    ),
    ...circuits.map(
      ({ at, name, opened }): Change => ({
        at,
        type: opened ? "circuit.opened" : "circuit.closed",
        name,
        version: null,
        settings: [],
        actor_id: null,
      }),
    ),
    ...events.flatMap((event) => (event.id ? [changeOf(event)] : [])),
  ].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return { from, to, data: changes.slice(0, MAX_CHANGES), truncated: changes.length > MAX_CHANGES || isCut };
}

function changeOf({ occurred_at, event_type, resource_id, actor_id, input, output }: AuditRow): Change {
  const { changed } = JSON.parse(output ?? "{}") as { changed?: unknown };
  const settings = Array.isArray(changed) ? changed.map(String) : [];
  return { at: occurred_at, type: typeOf(event_type, settings, input), name: resource_id ?? "", version: null, settings, actor_id };
}

/** A pause or its end has a type of its own, when nothing else changed. */
function typeOf(type: string, settings: readonly string[], input: string | null): ChangeType {
  if (type !== "queue.updated" || settings.join() !== "paused") return type as ChangeType;
  const { paused } = JSON.parse(input ?? "{}") as { paused?: boolean };
  return paused === false ? "queue.resumed" : "queue.paused";
}
