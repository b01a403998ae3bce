import type { StreamReader } from "#http";
import type { Clock, PersonId, Shares, Tenants, WorkspaceId } from "#kernel";
import type { RunKey } from "../runs/run.ts";
import type { EventCursor } from "./cursor.ts";
import { RunEventStream } from "./event-stream.ts";
import { FollowedRun } from "./followed-run.ts";

export interface FollowedRunsOptions {
  readonly tenants: Tenants;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly shares: Pick<Shares, "eventStreams" | "requestMemory" | "loopTime">;
}

/** The runs whose events this node's readers get. A run is not read while it does not change. */
export class FollowedRuns {
  readonly #options: FollowedRunsOptions;
  /** Followed runs by workspace and run: the id of a run does not say whose it is. */
  readonly #runs = new Map<string, FollowedRun>();
  #closed = false;

  constructor(options: FollowedRunsOptions) {
    this.#options = options;
  }

  /**
   * Opens a stream of a run's events. The caller ends it with `destroy`.
   *
   * @throws UNAVAILABLE when the workspace has too many
   */
  open(key: RunKey, cursor: EventCursor | null, reader: StreamReader): RunEventStream {
    const { tenants, clock, shares } = this.#options;
    const { workspaceId } = key;
    shares.eventStreams.takeOrRefuse(workspaceId);
    const followed = this.#runs.get(nameOf(key)) ?? new FollowedRun(key, tenants.of(workspaceId), clock);
    const stream = new RunEventStream({ key, cursor, shares, reader, onReady: () => followed.look() });
    this.#runs.set(nameOf(key), followed);
    followed.streams.add(stream);
    stream.once("close", () => {
      shares.eventStreams.release(workspaceId);
      this.#leave(followed, stream);
    });
    if (this.#closed) {
      stream.finish();
      return stream;
    }
    followed.look();
    // The reader may have lost their rights after the request was authenticated, before a message could reach this stream.
    void stream.checkAccess();
    return stream;
  }

  /** Nodes are notified of changes of runs that are followed. */
  changed(key: RunKey): void {
    this.#runs.get(nameOf(key))?.changed();
  }

  /** Notifications may have been missed. */
  allChanged(): void {
    for (const followed of this.#runs.values()) followed.changed();
  }

  /** A key of the workspace was revoked, or something else about it changed: readers must still be allowed to read. */
  workspaceChanged(workspaceId: WorkspaceId): void {
    for (const { key, streams } of this.#runs.values())
      if (key.workspaceId === workspaceId) for (const stream of streams) void stream.checkAccess();
  }

  /** Sessions or rights of a person have changed: their streams end. A reader who still may read connects again. */
  personChanged(personId: PersonId): void {
    for (const { streams } of this.#runs.values()) for (const stream of streams) if (stream.isReadBy(personId)) stream.shutOut();
  }

  /** Ends all streams, for good. */
  close(): void {
    this.#closed = true;
    for (const { streams } of this.#runs.values()) for (const stream of streams) stream.finish();
  }

  #leave(followed: FollowedRun, stream: RunEventStream): void {
    followed.streams.delete(stream);
    if (followed.streams.size > 0) return;
    followed.close();
    const name = nameOf(followed.key);
    if (this.#runs.get(name) === followed) this.#runs.delete(name);
  }
}

const nameOf = ({ workspaceId, id }: RunKey): string => `${workspaceId} ${id}`;
