import { LRUCache } from "lru-cache";
import type { Principal } from "#http";
import type { Clock, Db, WorkspaceId } from "#kernel";
import { hashKey, isWellFormedKey } from "./api-key.ts";
import { findPrincipalAcrossWorkspaces } from "./key-store.ts";
import type { KeyUses } from "./key-uses.ts";

/** How long a node trusts what it read of a key: a revoked one is dead everywhere within this. Milliseconds. */
const TRUST_MS = 750;
/** Unknown keys are remembered too, so that a flood of them costs few look-ups. */
const MAX_REMEMBERED = 10_000;

interface Remembered {
  readonly principal: Promise<Principal | null>;
  readonly untilMs: number;
  /** Whom it turned out to be; undefined while that is being looked up. */
  holder?: Principal | null;
}

/** Looks keys up, remembering each for less than a second. Requests that come together share one look-up. */
export class PrincipalFinder {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #uses: Pick<KeyUses, "note">;
  readonly #chosenKey: string | null;
  readonly #remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });

  /** @param chosenKey a key whose text an operator chose, which need not have a checksum */
  constructor(db: Db, clock: Clock, uses: Pick<KeyUses, "note">, chosenKey: string | null) {
    this.#db = db;
    this.#clock = clock;
    this.#uses = uses;
    this.#chosenKey = chosenKey;
  }

  /** Who holds `key`, or null for one that is malformed, unknown, expired or revoked. */
  find(key: string): Promise<Principal | null> {
    const nowMs = this.#clock.elapsedMs();
    const known = this.#remembered.get(key);
    if (known && known.untilMs > nowMs) {
      if (known.holder) this.#uses.note(known.holder.keyId);
      return known.principal;
    }
    if (!isWellFormedKey(key) && key !== this.#chosenKey) return Promise.resolve(null);
    const found: Remembered = { principal: findPrincipalAcrossWorkspaces(this.#db, hashKey(key)), untilMs: nowMs + TRUST_MS };
    this.#remembered.set(key, found);
    found.principal.then(
      (holder) => {
        found.holder = holder;
        if (holder) this.#uses.note(holder.keyId);
      },
      // A look-up that failed is not remembered.
      () => this.#remembered.delete(key),
    );
    return found.principal;
  }

  /** Whether `key` stands for anybody. A look, and no use of it. */
  async knows(key: string): Promise<boolean> {
    return (await findPrincipalAcrossWorkspaces(this.#db, hashKey(key))) !== null;
  }

  /** Forgets the keys of a workspace that has changed, and those being looked up, whose answer may be of before. */
  forget(workspaceId: WorkspaceId): void {
    for (const [key, { holder }] of [...this.#remembered.entries()]) {
      if (holder === undefined || holder?.workspaceId === workspaceId) this.#remembered.delete(key);
    }
  }
}
