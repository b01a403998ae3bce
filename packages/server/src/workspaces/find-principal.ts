import type { Principal } from "#http";
import type { Clock, Db } from "#kernel";
import { hashKey, isWellFormedKey } from "./api-key.ts";
import { findPrincipalAcrossWorkspaces } from "./store.ts";

/** How long a node trusts what it read of a key: a revoked one is dead everywhere within this. Milliseconds. */
const TRUST_MS = 750;
/** Keys remembered at most; unknown ones are remembered too, so that a flood of them costs few look-ups. */
const MOST = 10_000;

interface Remembered {
  readonly principal: Promise<Principal | null>;
  readonly untilMs: number;
}

/** Looks keys up, remembering each for less than a second. Requests that come together share one look-up. */
export class PrincipalFinder {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #chosenKey: string | null;
  readonly #remembered = new Map<string, Remembered>();

  /** @param chosenKey a key whose text an operator chose, which need not have a checksum */
  constructor(db: Db, clock: Clock, chosenKey: string | null) {
    this.#db = db;
    this.#chosenKey = chosenKey;
    this.#clock = clock;
  }

  /** Who holds `key`, or null for one that is malformed, unknown, expired or revoked. */
  find(key: string): Promise<Principal | null> {
    const nowMs = this.#clock.elapsedMs();
    const known = this.#remembered.get(key);
    if (known && known.untilMs > nowMs) return known.principal;
    if (!isWellFormedKey(key) && key !== this.#chosenKey) return Promise.resolve(null);
    if (this.#remembered.size >= MOST) this.#remembered.clear();
    const principal = this.#lookUp(key);
    this.#remembered.set(key, { principal, untilMs: nowMs + TRUST_MS });
    // A look-up that failed is not remembered.
    principal.catch(() => this.#remembered.delete(key));
    return principal;
  }

  #lookUp(key: string): Promise<Principal | null> {
    return findPrincipalAcrossWorkspaces(this.#db, hashKey(key));
  }
}
