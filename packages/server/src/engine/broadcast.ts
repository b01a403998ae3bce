import { RECORD_KINDS, type RecordKind } from "@tidemill/contract";
import { type Db, type EmitEvent, type JobId, type PersonId, type RunId, rows, sql, tolerate, type Uuid, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";

export const WAKE_CHANNEL = "tidemill_wake";

const COALESCE_MS = 15;
/** PostgreSQL refuses notifications of 8,000 bytes or more. */
const MAX_BYTES = 7_500;
/** If messages do not fit into this many notifications, one `lookEverywhere` replaces those that wake lanes. */
const MAX_NOTIFICATIONS = 8;

/** A message between nodes. */
export type Message =
  | { readonly kind: "laneWoken"; readonly lane: LaneKey }
  /** The same for a lane that workers serve. */
  | { readonly kind: "pulledLaneWoken"; readonly lane: LaneKey }
  | { readonly kind: "jobCancelled"; readonly leaseId: number; readonly id: JobId }
  | { readonly kind: "runCancelled"; readonly leaseId: number; readonly id: RunId }
  | { readonly kind: "laneDeleted"; readonly lane: LaneKey }
  /** A run that a node follows has changed. PostgreSQL sends it (migration 0016), also to the node that made the change. */
  | { readonly kind: "runChanged"; readonly workspaceId: WorkspaceId; readonly id: RunId }
  /** A key of a workspace was revoked or, without one, its plan or limits have changed. */
  | { readonly kind: "workspaceChanged"; readonly workspaceId: WorkspaceId; readonly keyId: Uuid | null }
  /** Sessions or rights of a person have changed. */
  | { readonly kind: "personChanged"; readonly personId: PersonId }
  /** A workspace was deleted. */
  | { readonly kind: "workspaceDeleted"; readonly workspaceId: WorkspaceId }
  /** Readers of a node follow a workspace: it wants to know which records change. */
  | { readonly kind: "workspaceFollowed"; readonly workspaceId: WorkspaceId; readonly node: string }
  /** Records of a workspace that other nodes follow have changed. */
  | { readonly kind: "recordsChanged"; readonly workspaceId: WorkspaceId; readonly node: string; readonly kinds: readonly RecordKind[] }
  /** A node wants to know which workspaces other nodes follow. */
  | { readonly kind: "followersWanted"; readonly node: string }
  | { readonly kind: "nodeStarted" }
  /** The master key of the vault is being rotated. */
  | { readonly kind: "masterKeyChanged" }
  /** There is more to report than fits into the notifications: the node should scan everywhere. */
  | { readonly kind: "lookEverywhere" };

/**
 * Sends messages to other nodes: one NOTIFY for all messages of 15 ms, or a few if there are many, outside of transactions. A message may
 * be lost: polling finds what it was about.
 */
export class Broadcaster {
  readonly #db: Db;
  readonly #emit: EmitEvent;
  readonly #pending = new Set<string>();
  /** Messages that one `lookEverywhere` can replace. */
  readonly #wakes = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Db, emit: EmitEvent) {
    this.#db = db;
    this.#emit = emit;
  }

  send(message: Message): void {
    const isWake = message.kind === "laneWoken" || message.kind === "pulledLaneWoken";
    (isWake ? this.#wakes : this.#pending).add(write(message));
    this.#timer ??= setTimeout(() => void this.flush(), COALESCE_MS);
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.size + this.#wakes.size === 0) return;
    const all = inParts([...this.#pending, ...this.#wakes]);
    // A scan does not find what was cancelled or deleted.
    const texts = all.length <= MAX_NOTIFICATIONS ? all : inParts([...this.#pending, write({ kind: "lookEverywhere" })]);
    this.#pending.clear();
    this.#wakes.clear();
    await tolerate(
      () => notifyNodes(this.#db, WAKE_CHANNEL, texts),
      (error) => this.#emit("notify_failed", { error }),
    );
  }
}

/** The lines, joined to texts that PostgreSQL takes. */
function inParts(lines: readonly string[]): string[] {
  const parts: string[] = [];
  for (const line of lines) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + line.length < MAX_BYTES) parts[parts.length - 1] = `${last}\n${line}`;
    else parts.push(line);
  }
  return parts;
}

function write(message: Message): string {
  switch (message.kind) {
    case "laneWoken":
    case "pulledLaneWoken":
    case "laneDeleted":
      return `${message.kind} ${message.lane.workspaceId} ${message.lane.laneId}`;
    case "jobCancelled":
    case "runCancelled":
      return `${message.kind} ${message.leaseId} ${message.id}`;
    case "runChanged":
      return `runChanged ${message.workspaceId} ${message.id}`;
    case "workspaceChanged":
      // Older nodes, which do not read the key, end the calls of all keys.
      return `workspaceChanged ${message.workspaceId}${message.keyId ? ` ${message.keyId}` : ""}`;
    case "workspaceDeleted":
      return `workspaceDeleted ${message.workspaceId}`;
    case "personChanged":
      return `personChanged ${message.personId}`;
    case "workspaceFollowed":
      return `workspaceFollowed ${message.workspaceId} ${message.node}`;
    case "recordsChanged":
      return `recordsChanged ${message.workspaceId} ${message.node} ${message.kinds.join()}`;
    case "followersWanted":
      return `followersWanted ${message.node}`;
    default:
      return message.kind;
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const WHOLE = /^\d{1,15}$/;

/** One handler for each kind of message. */
export type MessageHandlers = { readonly [Kind in Message["kind"]]: (message: Extract<Message, { kind: Kind }>) => void };

export function handleMessages(payload: string, handlers: MessageHandlers): void {
  for (const message of readMessages(payload)) (handlers[message.kind] as (message: Message) => void)(message);
}

/** The messages in a notification. Unknown ones are ignored: they come from newer nodes. */
function readMessages(payload: string): Message[] {
  return payload.split("\n").flatMap((line): Message[] => {
    const [kind, first = "", second = "", third = ""] = line.split(" ");
    switch (kind) {
      case "laneWoken":
      case "pulledLaneWoken":
      case "laneDeleted":
        if (!UUID.test(first) || !WHOLE.test(second)) return [];
        return [{ kind, lane: { workspaceId: first as WorkspaceId, laneId: Number(second) as LaneId } }];
      case "jobCancelled":
        return [{ kind, leaseId: Number(first), id: second as JobId }];
      case "runCancelled":
        return [{ kind, leaseId: Number(first), id: second as RunId }];
      case "runChanged":
        return UUID.test(first) && UUID.test(second) ? [{ kind, workspaceId: first as WorkspaceId, id: second as RunId }] : [];
      case "workspaceChanged":
        return UUID.test(first) ? [{ kind, workspaceId: first as WorkspaceId, keyId: UUID.test(second) ? (second as Uuid) : null }] : [];
      case "workspaceDeleted":
        return UUID.test(first) ? [{ kind, workspaceId: first as WorkspaceId }] : [];
      case "personChanged":
        return UUID.test(first) ? [{ kind, personId: first as PersonId }] : [];
      case "workspaceFollowed":
        return UUID.test(first) ? [{ kind, workspaceId: first as WorkspaceId, node: second }] : [];
      case "recordsChanged":
        return UUID.test(first) ? [{ kind, workspaceId: first as WorkspaceId, node: second, kinds: readKinds(third) }] : [];
      case "followersWanted":
        return [{ kind, node: first }];
      case "nodeStarted":
      case "masterKeyChanged":
      case "lookEverywhere":
        return [{ kind }];
      default:
        return [];
    }
  });
}

const readKinds = (text: string): RecordKind[] => {
  const names: readonly string[] = text.split(",");
  return RECORD_KINDS.filter((kind) => names.includes(kind));
};

const notifyNodes = (db: Db, channel: string, messages: readonly string[]): Promise<unknown> =>
  rows(db, sql`select pg_notify(${channel}, message) from unnest(${messages}::text[]) as message`);
