import type { Claim } from "#jobs";
import { type Timestamp, typeId } from "#kernel";

/** A claimed hook, with the id of its workflow and the token for its worker. */
export interface ClaimedHook {
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  readonly workflow: string;
  readonly token: string;
}

/** The hook for its worker, as JSON text. Source: docs/run-protocol.md. */
export const hookText = ({ claim, workflow, token }: ClaimedHook): string =>
  `{"id":"${typeId("hook", claim.id)}","workflowId":${JSON.stringify(workflow)},${claim.payload.slice(1, -1)},` +
  `"lease_token":"${token}","lease_expires_at":"${claim.leaseUntil}"}`;
