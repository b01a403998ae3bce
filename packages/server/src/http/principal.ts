import type { Plan, Role } from "@tidemill/contract";
import type { Timestamp, Uuid, WorkspaceId } from "#kernel";

/** The person whose session a request was sent with. */
export interface SignedIn {
  readonly personId: Uuid;
  readonly sessionId: Uuid;
  /** Whether they confirmed within the last minutes who they are. */
  readonly confirmed: boolean;
}

/**
 * The holder of a valid workspace key, or a person in one of their workspaces. The plan and limits may be as old as the cache of keys
 * allows (`find-principal.ts`).
 */
export interface Principal {
  /** Null for a person. */
  readonly keyId: Uuid | null;
  /** The person, for requests of the dashboard's pages. */
  readonly person?: SignedIn;
  /** When the key is no longer valid, if it was made with such a time. */
  readonly expiresAt?: Timestamp | null;
  readonly workspaceId: WorkspaceId;
  readonly role: Role;
  /** The queues that a key of role `worker` may serve. Null: all, or none if it is bound to workflows. */
  readonly queues: readonly string[] | null;
  /** The workflows that it may serve. Null: all, or none if it is bound to queues. */
  readonly workflows: readonly string[] | null;
  readonly plan: Plan;
  /** Null means no limit, here and in `executionsPerMonth`. */
  readonly requestsPerMinute: number | null;
  readonly executionsPerMonth: number | null;
}
