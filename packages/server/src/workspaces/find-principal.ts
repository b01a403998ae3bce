import { LRUCache } from "lru-cache";
import type { Principal } from "#http";
import { type Clock, type Db, momentMs, type Uuid, type WorkspaceId } from "#kernel";
import { hashKey, isWellFormedKey } from "./api-key.ts";
import { findPrincipalAcrossWorkspaces } from "./key-store.ts";
import type { KeyUses } from "./key-uses.ts";

/** How long a node trusts what it read about a key. Milliseconds. */
const CACHE_MS = 750;
/**
 * How long a node trusts it after a poll in which the node learned about all changes of keys. The documentation promises that every node
 * refuses a revoked key after a second. Milliseconds.
 */
const PROVEN_MS = 1_000;
/**
 * The maximum, however many polls succeed: no poll reports what a database has lost that recovers from a crash (decision 54). Milliseconds.
 */
const MAX_PROVEN_MS = 300_000;
/** Unknown keys are cached too, so that a flood of requests with an unknown key costs few look-ups. */
const MAX_CACHED_KEYS = 10_000;

interface CachedKey {
  readonly principal: Promise<Principal | null>;
  readonly lookedUpMs: number;
  /** The result of the look-up; undefined until it ends. */
  holder?: Principal | null;
  /** When the key is no longer valid. Milliseconds since 1970. */
  expiresMs: number;
}

/**
 * Finds the principals of keys, and caches them: each for less than a second, or for as long as the node learns at least once a second that
 * the key has not changed (`proven`). Concurrent requests with a key share one look-up.
 */
export class PrincipalFinder {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #uses: Pick<KeyUses, "record">;
  readonly #chosenKey: string | null;
  readonly #cache = new LRUCache<string, CachedKey>({ max: MAX_CACHED_KEYS });
  #provenMs = Number.NEGATIVE_INFINITY;

  /** @param chosenKey a key whose text an operator chose. It may lack a valid checksum. */
  constructor(db: Db, clock: Clock, uses: Pick<KeyUses, "record">, chosenKey: string | null) {
    this.#db = db;
    this.#clock = clock;
    this.#uses = uses;
    this.#chosenKey = chosenKey;
  }

  /** Returns the principal of a key, or null for a key that is malformed, unknown, expired or revoked. A promise, unless it is cached. */
  find(key: string): Promise<Principal | null> | Principal | null {
    const nowMs = this.#clock.elapsedMs();
    const known = this.#cache.get(key);
    if (known && (nowMs < known.lookedUpMs + CACHE_MS || this.#isProven(known, nowMs))) {
      if (known.holder?.keyId) this.#uses.record(known.holder.keyId);
      return known.holder === undefined ? known.principal : known.holder;
    }
    if (!isWellFormedKey(key) && key !== this.#chosenKey) return null;
    const principal = findPrincipalAcrossWorkspaces(this.#db, hashKey(key));
    const found: CachedKey = { principal, lookedUpMs: nowMs, expiresMs: Number.POSITIVE_INFINITY };
    this.#cache.set(key, found);
    found.principal.then(
      (holder) => {
        found.holder = holder;
        if (holder?.expiresAt) found.expiresMs = momentMs(holder.expiresAt);
        if (holder?.keyId) this.#uses.record(holder.keyId);
      },
      // A look-up that failed is not cached.
      () => this.#cache.delete(key),
    );
    return found.principal;
  }

  /** Applies only to keys that exist: the creation of a key is not a reported change. */
  #isProven({ holder, lookedUpMs, expiresMs }: CachedKey, nowMs: number): boolean {
    const untilMs = Math.min(this.#provenMs + PROVEN_MS, lookedUpMs + MAX_PROVEN_MS);
    return Boolean(holder) && nowMs < untilMs && this.#clock.nowMs() < expiresMs;
  }

  /**
   * Confirms the cached keys: every key that changed after its look-up, by a commit before `sinceMs`, has been forgotten (`forget`).
   *
   * @param sinceMs milliseconds of the elapsed clock
   */
  proven(sinceMs: number): void {
    this.#provenMs = sinceMs;
  }

  /** Forgets all keys: any may have changed. */
  forgetAll(): void {
    this.#cache.clear();
  }

  /** Whether the key is valid. Does not count as a use of the key. */
  async knows(key: string): Promise<boolean> {
    return (await findPrincipalAcrossWorkspaces(this.#db, hashKey(key))) !== null;
  }

  /**
   * Forgets a key that has changed, or all keys of a workspace. Also forgets all pending look-ups: their results may be from before the
   * change.
   */
  forget(workspaceId: WorkspaceId, keyId: Uuid | null): void {
    for (const [key, { holder }] of [...this.#cache.entries()]) {
      const isOne = holder?.workspaceId === workspaceId && (keyId === null || holder.keyId === keyId);
      if (holder === undefined || isOne) this.#cache.delete(key);
    }
  }
}
