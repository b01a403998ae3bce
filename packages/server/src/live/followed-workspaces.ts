import { RECORD_KINDS, type RecordKind } from "@tidemill/contract";
import type { StreamReader } from "#http";
import type { Changes, Clock, PersonId, Random, Shares, WorkspaceId } from "#kernel";
import { FollowedWorkspace } from "./followed-workspace.ts";
import { LiveStream } from "./live-stream.ts";

/** How often a node reports which workspaces its readers follow, and how long a report is valid. Milliseconds. */
const ANNOUNCE_EVERY_MS = 20_000;
const BELIEVED_MS = 50_000;
/** A client waits at least this long before it connects again, and up to twice as long. Milliseconds. */
const RETRY_MS = 1_500;

/** Messages between nodes. */
export type LiveMessage =
  | { readonly kind: "workspaceFollowed"; readonly workspaceId: WorkspaceId; readonly node: string }
  | { readonly kind: "recordsChanged"; readonly workspaceId: WorkspaceId; readonly node: string; readonly kinds: readonly RecordKind[] }
  | { readonly kind: "followersWanted"; readonly node: string };

type Send = (message: LiveMessage) => void;

export interface FollowedWorkspacesOptions {
  readonly changes: Changes;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly random: Random;
  readonly shares: Pick<Shares, "eventStreams">;
  /** Sends a message to the other nodes, if there are any. */
  readonly notify: Send;
  /** The same, for an answer to a message: this node may not know yet that there are others. */
  readonly reply: Send;
}

/**
 * The workspaces that readers follow. Each node repeatedly reports to the others which workspaces its readers follow. The others notify it
 * of changes of these workspaces only. So a change of a workspace that nobody follows costs one look-up in memory.
 */
export class FollowedWorkspaces {
  readonly #options: FollowedWorkspacesOptions;
  readonly #followed = new Map<WorkspaceId, FollowedWorkspace>();
  /** Nodes receive their own messages, too. */
  readonly #node: string;
  readonly #timer: NodeJS.Timeout;
  #closed = false;

  constructor(options: FollowedWorkspacesOptions) {
    this.#options = options;
    this.#node = options.random.bytes(6).toString("hex");
    this.#timer = setInterval(() => this.#renew(), ANNOUNCE_EVERY_MS).unref();
  }

  /**
   * Opens a stream of what changes in a workspace. The caller ends it with `destroy`.
   *
   * @throws UNAVAILABLE when the workspace has too many
   */
  open(workspaceId: WorkspaceId, reader: StreamReader): LiveStream {
    const { shares, random } = this.#options;
    shares.eventStreams.takeOrRefuse(workspaceId);
    const followed = this.#of(workspaceId);
    const stream = new LiveStream({ retryMs: Math.round(RETRY_MS * (1 + random.fraction())), reader });
    followed.streams.add(stream);
    stream.once("close", () => {
      shares.eventStreams.release(workspaceId);
      followed.streams.delete(stream);
      this.#forgetUnless(workspaceId, followed);
    });
    if (this.#closed) {
      stream.finish();
      return stream;
    }
    if (followed.streams.size === 1) this.#announce(workspaceId, this.#options.notify);
    // The reader may have lost their rights after the request was authenticated, before a message could reach this stream.
    void stream.checkAccess();
    return stream;
  }

  /** A message from a node. */
  receive(message: LiveMessage): void {
    if (message.node === this.#node || this.#closed) return;
    if (message.kind === "workspaceFollowed") this.#of(message.workspaceId).followedElsewhere(message.node, BELIEVED_MS);
    else if (message.kind === "recordsChanged") this.#followed.get(message.workspaceId)?.changed(message.kinds);
    else this.#announceAll(this.#options.reply);
  }

  /** Messages may have been missed: anything may have changed, and other nodes may have new readers. */
  missed(): void {
    for (const followed of this.#followed.values()) followed.changed(RECORD_KINDS);
    this.#options.notify({ kind: "followersWanted", node: this.#node });
  }

  /** A key of the workspace was revoked, or something else about it changed: readers must still be allowed to read. */
  workspaceChanged(workspaceId: WorkspaceId): void {
    for (const stream of this.#followed.get(workspaceId)?.streams ?? []) void stream.checkAccess();
  }

  /** Sessions or rights of a person have changed: their streams end. A reader who still may read connects again. */
  personChanged(personId: PersonId): void {
    for (const { streams } of this.#followed.values()) for (const stream of streams) if (stream.isReadBy(personId)) stream.finish();
  }

  /** Ends all streams, for good. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const { streams } of this.#followed.values()) for (const stream of streams) stream.finish();
  }

  #of(workspaceId: WorkspaceId): FollowedWorkspace {
    const known = this.#followed.get(workspaceId);
    if (known) return known;
    const { changes, clock, notify } = this.#options;
    const followed = new FollowedWorkspace(clock, (kinds) => notify({ kind: "recordsChanged", workspaceId, node: this.#node, kinds }));
    this.#followed.set(workspaceId, followed);
    changes.follow(workspaceId, (kinds) => followed.changedHere(kinds));
    return followed;
  }

  #announce(workspaceId: WorkspaceId, send: Send): void {
    send({ kind: "workspaceFollowed", workspaceId, node: this.#node });
  }

  #announceAll(send: Send): void {
    for (const [workspaceId, { streams }] of this.#followed) if (streams.size > 0) this.#announce(workspaceId, send);
  }

  #renew(): void {
    for (const [workspaceId, followed] of this.#followed) this.#forgetUnless(workspaceId, followed);
    this.#announceAll(this.#options.notify);
  }

  #forgetUnless(workspaceId: WorkspaceId, followed: FollowedWorkspace): void {
    if (followed.isFollowed || this.#followed.get(workspaceId) !== followed) return;
    followed.close();
    this.#followed.delete(workspaceId);
    this.#options.changes.unfollow(workspaceId);
  }
}
