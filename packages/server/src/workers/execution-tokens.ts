import { createHmac } from "node:crypto";
import { LRUCache } from "lru-cache";
import { findNodeSecret } from "#engine";
import type { NamedClaim } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import { claimOf, isSameSecret, leaseToken, readLeaseToken } from "./lease-token.ts";
import { readWorkId } from "./work-id.ts";

const MAX_LEASES = 10_000;
const TOKEN_BYTES = 16;

/** An execution with the token that came with it. */
interface NamedExecution {
  readonly id: string;
  readonly lease_token: string;
}

/**
 * Tokens of executions that nodes send to endpoints. Each is derived from the secret of the node that holds the claim, so that any node can
 * check it, and no token reveals anything about another.
 */
export class ExecutionTokens {
  readonly #db: Db;
  /**
   * The secrets of nodes, by their leases. Null: the lease is that of a worker. Neither ever changes. A lease that does not exist may be a
   * node's later, so it is not kept.
   */
  readonly #secrets = new LRUCache<number, { readonly secret: Buffer | null }>({ max: MAX_LEASES });

  constructor(db: Db) {
    this.#db = db;
  }

  /** The token of a claim that a node holds. Null when the node is gone. */
  async of(claim: NamedClaim & { readonly workspaceId: WorkspaceId }): Promise<string | null> {
    const secret = await this.#secretOf(claim.leaseId);
    return secret && leaseToken(claim, derived(secret, claim.workspaceId, claim));
  }

  /** The claim that a token proves, if it is a token of this kind. */
  async verify(workspaceId: WorkspaceId, { id, lease_token }: NamedExecution): Promise<NamedClaim | null> {
    const token = readLeaseToken(lease_token);
    const jobId = readWorkId(id);
    const secret = token && jobId !== null ? await this.#secretOf(token.leaseId) : null;
    if (!token || jobId === null || !secret) return null;
    const claim = claimOf(jobId, token);
    return isSameSecret(derived(secret, workspaceId, claim), token.secret) ? claim : null;
  }

  async #secretOf(leaseId: number): Promise<Buffer | null> {
    const known = this.#secrets.get(leaseId);
    if (known) return known.secret;
    const secret = await findNodeSecret(this.#db, leaseId);
    if (secret !== undefined) this.#secrets.set(leaseId, { secret });
    return secret ?? null;
  }
}

const derived = (secret: Buffer, workspaceId: WorkspaceId, { id, laneId, leaseId, attempt }: NamedClaim): string =>
  createHmac("sha256", secret)
    .update(`${workspaceId}/${laneId}/${id}/${leaseId}/${attempt}`)
    .digest()
    .subarray(0, TOKEN_BYTES)
    .toString("base64url");
