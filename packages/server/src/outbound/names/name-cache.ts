import { FairShare, type WorkspaceId } from "#kernel";
import type { CachedName } from "./cached-name.ts";

const MAX_NAMES = 5_000;

interface Entry {
  readonly cached: CachedName;
  readonly workspaceId: WorkspaceId;
}

/**
 * What was found for names. Every workspace may use an entry, and the one that looked the name up last is charged for it. A workspace
 * without room gives up its own oldest entry, so that it cannot evict those of others.
 */
export class NameCache {
  readonly #entries = new Map<string, Entry>();
  /** The names of each workspace, from the oldest to the latest. */
  readonly #names = new Map<WorkspaceId, Set<string>>();
  readonly #share: FairShare;

  constructor(capacity = MAX_NAMES) {
    this.#share = new FairShare(capacity);
  }

  get(name: string): CachedName | undefined {
    return this.#entries.get(name)?.cached;
  }

  set(workspaceId: WorkspaceId, name: string, cached: CachedName): void {
    this.delete(name);
    if (this.#share.roomFor(workspaceId) < 1) this.#evictFor(workspaceId);
    this.#entries.set(name, { cached, workspaceId });
    this.#namesOf(workspaceId).add(name);
    this.#share.take(workspaceId, 1);
  }

  delete(name: string): void {
    const entry = this.#entries.get(name);
    if (!entry) return;
    const names = this.#namesOf(entry.workspaceId);
    this.#entries.delete(name);
    names.delete(name);
    if (names.size === 0) this.#names.delete(entry.workspaceId);
    this.#share.giveBack(entry.workspaceId, 1);
  }

  /** One that holds nothing and finds no room takes the place of the oldest entry of all. */
  #evictFor(workspaceId: WorkspaceId): void {
    const [own] = this.#names.get(workspaceId) ?? [];
    const [oldest] = this.#entries.keys();
    const name = own ?? oldest;
    if (name !== undefined) this.delete(name);
  }

  #namesOf(workspaceId: WorkspaceId): Set<string> {
    const names = this.#names.get(workspaceId) ?? new Set();
    this.#names.set(workspaceId, names);
    return names;
  }
}
