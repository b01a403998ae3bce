import { LIMITS } from "@tidemill/contract";
import { LRUCache } from "lru-cache";
import { type Clock, type Database, type EmitEvent, problem, tolerate, toMoment } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import {
  type AskedVersion,
  findParkedForAcrossWorkspaces,
  forgetOldVersions,
  recordVersionsAcrossWorkspaces,
  releaseParked,
  VERSION_GONE_SECONDS,
  type VersionSeen,
} from "#workflows";
import { growingTo } from "./growing-cache.ts";
import { type Asking, type BoundedFilter, versionFilter } from "./version-filter.ts";

const GONE_AFTER_MS = VERSION_GONE_SECONDS * 1_000;
const MAX_WORKERS = 50_000;
const MAX_WRITTEN = 1_000;

export interface CodeVersionsOptions {
  readonly database: Database;
  readonly clock: Pick<Clock, "nowMs">;
  readonly emit: EmitEvent;
  /** Runs of this workflow resume. */
  readonly onReleased: (lane: LaneKey) => void;
}

/**
 * The versions of the code whose workers poll for runs. A run goes to workers of the version that started it while there are any, otherwise
 * to the newest version. A version is written to the database when its workers first poll this node, and then from time to time, so that a
 * waiting worker costs no statement. Other nodes read it when they write their own.
 */
export class CodeVersions {
  readonly #options: CodeVersionsOptions;
  readonly #byLane = new Map<LaneId, Map<string, Asking>>();
  /** What workers polled for last, by their leases. */
  readonly #byWorker = new LRUCache<number, readonly AskedVersion[]>(growingTo(MAX_WORKERS));
  readonly #recording = new Map<string, Promise<void>>();
  #unwritten = new Map<string, VersionSeen>();

  constructor(options: CodeVersionsOptions) {
    this.#options = options;
  }

  /**
   * Checks that workers of a version may poll for runs of a workflow.
   *
   * @throws INVALID_STATE when workers of too many other versions poll
   */
  check(laneId: LaneId, workflow: string, version: string): void {
    const others = this.#alive(laneId).filter(([name]) => name !== version);
    if (others.length < LIMITS.workflowVersions) return;
    const limit = LIMITS.workflowVersions;
    const message = `Workers of ${limit} other versions ask for runs of the workflow "${workflow}". No more may ask until one of them has not for ${VERSION_GONE_SECONDS} s.`;
    throw problem("INVALID_STATE", { workflow, limit }, { message });
  }

  /** A worker polls for runs. If its version is new here, runs that wait for other code resume. */
  async asks(lanes: readonly AskedVersion[], leaseId: number): Promise<void> {
    if (lanes.length === 0) return;
    this.#byWorker.set(leaseId, lanes);
    const unknown = lanes.filter((lane) => !this.#touch(lane));
    if (unknown.length > 0) await Promise.all(unknown.map((lane) => this.#begin(lane)));
  }

  /** The worker has not polled, because it is executing something. */
  isBusy(leaseId: number): void {
    for (const lane of this.#byWorker.get(leaseId) ?? []) this.#touch(lane);
  }

  /**
   * Which runs workers of a version may take. Null: all.
   *
   * @returns with `othersGoneInMs`, the time after which it may take more
   */
  filterOf({ laneId, version }: Pick<AskedVersion, "laneId" | "version">): BoundedFilter | null {
    return versionFilter(this.#alive(laneId), version, (seenMs) => seenMs + GONE_AFTER_MS - this.#options.clock.nowMs());
  }

  /** The versions that are not gone. */
  #alive(laneId: LaneId): [string, Asking][] {
    const nowMs = this.#options.clock.nowMs();
    return [...(this.#byLane.get(laneId) ?? [])].filter(([, { seenMs }]) => nowMs - seenMs < GONE_AFTER_MS);
  }

  /** Writes whose workers have polled since the last write. */
  async write(): Promise<undefined> {
    const asked = [...this.#unwritten.values()];
    this.#unwritten = new Map();
    for (let from = 0; from < asked.length; from += MAX_WRITTEN) {
      await tolerate(
        () => this.#recordAgain(asked.slice(from, from + MAX_WRITTEN)),
        (error) => this.#options.emit("worker_record_failed", { error }),
      );
    }
    this.#forgetGone();
  }

  /** Returns false for a version whose workers have not polled this node, or not for a long time. */
  #touch(lane: AskedVersion): boolean {
    const asking = this.#byLane.get(lane.laneId)?.get(lane.version);
    const nowMs = this.#options.clock.nowMs();
    if (!asking?.asksHere || nowMs - asking.seenMs >= GONE_AFTER_MS) return false;
    asking.seenMs = nowMs;
    this.#unwritten.set(keyOf(lane), seen(lane, nowMs));
    return true;
  }

  /** Workers that begin together share the write. */
  #begin(lane: AskedVersion): Promise<void> {
    const key = keyOf(lane);
    const recording = this.#recording.get(key) ?? this.#introduce(lane).finally(() => this.#recording.delete(key));
    this.#recording.set(key, recording);
    return recording;
  }

  async #introduce(lane: AskedVersion): Promise<void> {
    await forgetOldVersions(this.#options.database, lane);
    await this.#record([seen(lane, this.#options.clock.nowMs())]);
    if ((await releaseParked(this.#options.database, lane, lane.version)) > 0) this.#options.onReleased(lane);
    // Set only after the write: if that fails, the next call repeats it.
    const asking = this.#byLane.get(lane.laneId)?.get(lane.version);
    if (asking) asking.asksHere = true;
  }

  /** A run may have been parked by a statement that did not see yet that workers of a version poll. */
  async #recordAgain(asked: readonly VersionSeen[]): Promise<void> {
    const { database, onReleased } = this.#options;
    await this.#record(asked);
    for (const lane of await findParkedForAcrossWorkspaces(database, asked))
      if ((await releaseParked(database, lane, lane.version)) > 0) onReleased(lane);
  }

  async #record(asked: readonly VersionSeen[]): Promise<void> {
    const sorted = asked.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const found = await recordVersionsAcrossWorkspaces(this.#options.database, sorted);
    const nowMs = this.#options.clock.nowMs();
    for (const { laneId, version, firstMs, agoMs } of found) {
      const ofLane = this.#byLane.get(laneId) ?? new Map<string, Asking>();
      const known = ofLane.get(version);
      ofLane.set(version, { firstMs, seenMs: Math.max(known?.seenMs ?? 0, nowMs - agoMs), asksHere: known?.asksHere ?? false });
      this.#byLane.set(laneId, ofLane);
    }
  }

  #forgetGone(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const [laneId, versions] of this.#byLane) {
      for (const [version, { seenMs }] of versions) if (nowMs - seenMs >= GONE_AFTER_MS) versions.delete(version);
      if (versions.size === 0) this.#byLane.delete(laneId);
    }
  }
}

const seen = ({ workspaceId, laneId, version }: AskedVersion, nowMs: number): VersionSeen => ({
  ...{ workspaceId, laneId, version },
  seenAt: toMoment(nowMs),
});

const keyOf = ({ workspaceId, laneId, version }: AskedVersion): string => `${workspaceId}/${String(laneId).padStart(16, "0")}/${version}`;
