import { RECORD_KINDS, type RecordKind } from "@tidemill/contract";
import type { Clock } from "#kernel";
import type { LiveStream } from "./live-stream.ts";
import { PacedKinds } from "./paced-kinds.ts";

/** The time between two events for a workspace's readers. Source: contract §13. Milliseconds. */
const EVENT_EVERY_MS = 1_000;
/** The time between two messages to other nodes about a workspace. Milliseconds. */
const MESSAGE_EVERY_MS = 500;

/** A workspace that readers of this node, other nodes, or both follow. */
export class FollowedWorkspace {
  readonly streams = new Set<LiveStream>();
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #events: PacedKinds;
  readonly #messages: PacedKinds;
  /** Other nodes that follow it, and until when they said so. */
  readonly #elsewhere = new Map<string, number>();

  /** @param onMessage called with what other nodes should know */
  constructor(clock: Pick<Clock, "elapsedMs">, onMessage: (kinds: readonly RecordKind[]) => void) {
    this.#clock = clock;
    this.#messages = new PacedKinds({ everyMs: MESSAGE_EVERY_MS, clock, onDue: onMessage });
    this.#events = new PacedKinds({
      everyMs: EVENT_EVERY_MS,
      clock,
      onDue: (kinds) => {
        for (const stream of this.streams) stream.changed(kinds);
      },
    });
  }

  /** Another node says that it follows the workspace. Anything may have changed before this node knew. */
  followedElsewhere(node: string, forMs: number): void {
    const isNew = !this.#elsewhere.has(node);
    this.#elsewhere.set(node, this.#clock.elapsedMs() + forMs);
    if (isNew) this.#messages.add(RECORD_KINDS);
  }

  get isFollowed(): boolean {
    return this.streams.size > 0 || this.#isFollowedElsewhere;
  }

  /** This node has changed something. */
  changedHere(kinds: readonly RecordKind[]): void {
    this.changed(kinds);
    if (this.#isFollowedElsewhere) this.#messages.add(kinds);
  }

  /** Somebody has changed something. */
  changed(kinds: readonly RecordKind[]): void {
    if (this.streams.size > 0) this.#events.add(kinds);
  }

  close(): void {
    this.#events.close();
    this.#messages.close();
  }

  get #isFollowedElsewhere(): boolean {
    if (this.#elsewhere.size === 0) return false;
    const nowMs = this.#clock.elapsedMs();
    for (const [node, untilMs] of this.#elsewhere) if (untilMs <= nowMs) this.#elsewhere.delete(node);
    return this.#elsewhere.size > 0;
  }
}
