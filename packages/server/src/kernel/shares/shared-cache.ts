import type { WorkspaceId } from "../ids.ts";
import { FairShare } from "./fair-share.ts";

interface Entry<Value> {
  readonly workspaceId: WorkspaceId;
  readonly value: Value;
  readonly units: number;
}

/**
 * A cache that workspaces share. Every workspace may use an entry, and the one that stored it last is charged for it. A workspace without
 * room loses its own oldest entries, so that it cannot evict those of others. Any entry may be gone at any time.
 */
export class SharedCache<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>();
  /** The keys of each workspace, from the oldest to the latest. */
  readonly #keys = new Map<WorkspaceId, Set<Key>>();
  readonly #share: FairShare;

  /** @param capacity in the units that entries are charged, such as one for each entry */
  constructor(capacity: number) {
    this.#share = new FairShare(capacity);
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** The workspace's entries, from the oldest to the latest. */
  *valuesOf(workspaceId: WorkspaceId): Generator<Value> {
    for (const key of this.#keys.get(workspaceId) ?? []) {
      const entry = this.#entries.get(key);
      if (entry) yield entry.value;
    }
  }

  /** Stores an entry, unless it is larger than what the workspace may have. */
  set(workspaceId: WorkspaceId, key: Key, value: Value, units = 1): void {
    this.delete(key);
    while (this.#share.roomFor(workspaceId) < units) if (!this.#evictFor(workspaceId, units)) return;
    this.#entries.set(key, { workspaceId, value, units });
    this.#keysOf(workspaceId).add(key);
    this.#share.take(workspaceId, units);
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    const { workspaceId, units } = entry;
    const keys = this.#keysOf(workspaceId);
    this.#entries.delete(key);
    keys.delete(key);
    if (keys.size === 0) this.#keys.delete(workspaceId);
    this.#share.release(workspaceId, units);
  }

  deleteIf(isToGo: (value: Value) => boolean): void {
    for (const [key, { value }] of this.#entries) if (isToGo(value)) this.delete(key);
  }

  /** Makes room. A workspace that holds nothing and finds no room for one unit takes the place of the oldest entry of all. */
  #evictFor(workspaceId: WorkspaceId, units: number): boolean {
    const [own] = this.#keys.get(workspaceId) ?? [];
    const [oldest] = units === 1 ? this.#entries.keys() : [];
    const key = own ?? oldest;
    if (key === undefined) return false;
    this.delete(key);
    return true;
  }

  #keysOf(workspaceId: WorkspaceId): Set<Key> {
    const keys = this.#keys.get(workspaceId) ?? new Set();
    this.#keys.set(workspaceId, keys);
    return keys;
  }
}
