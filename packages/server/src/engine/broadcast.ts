import { type Db, type EmitEvent, type JobId, type RunId, row, sql, tolerate, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";

export const WAKE_CHANNEL = "tidemill_wake";

const COALESCE_MS = 15;
/** PostgreSQL refuses longer messages at 8,000 bytes. */
const MAX_BYTES = 7_500;

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
  /** A workspace's keys, plan or limits have changed. */
  | { readonly kind: "workspaceChanged"; readonly workspaceId: WorkspaceId }
  /** A workspace was deleted. */
  | { readonly kind: "workspaceDeleted"; readonly workspaceId: WorkspaceId }
  | { readonly kind: "nodeStarted" }
  /** The master key of the vault is being rotated. */
  | { readonly kind: "masterKeyChanged" }
  /** There is more to report than fits into one notification: look everywhere. */
  | { readonly kind: "lookEverywhere" };

/**
 * Sends messages to other nodes: one NOTIFY for all messages of 15 ms, outside of transactions. A message may be lost; polling finds
 * what it was about.
 */
export class Broadcaster {
  readonly #db: Db;
  readonly #emit: EmitEvent;
  readonly #pending = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Db, emit: EmitEvent) {
    this.#db = db;
    this.#emit = emit;
  }

  send(message: Message): void {
    this.#pending.add(write(message));
    this.#timer ??= setTimeout(() => void this.flush(), COALESCE_MS);
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.size === 0) return;
    const text = [...this.#pending].join("\n");
    this.#pending.clear();
    await tolerate(
      () => notifyNodes(this.#db, WAKE_CHANNEL, text.length <= MAX_BYTES ? text : write({ kind: "lookEverywhere" })),
      (error) => this.#emit("notify_failed", { error }),
    );
  }
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
    case "workspaceDeleted":
      return `${message.kind} ${message.workspaceId}`;
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
    const [kind, first = "", second = ""] = line.split(" ");
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
      case "workspaceDeleted":
        return UUID.test(first) ? [{ kind, workspaceId: first as WorkspaceId }] : [];
      case "nodeStarted":
      case "masterKeyChanged":
      case "lookEverywhere":
        return [{ kind }];
      default:
        return [];
    }
  });
}

const notifyNodes = (db: Db, channel: string, message: string): Promise<unknown> => row(db, sql`select pg_notify(${channel}, ${message})`);
