import type { LookupAddress } from "node:dns";
import type { PrivateNameError } from "../address-guard.ts";

export type Address = LookupAddress;

/** What a name resolves to, or why it does not. */
export type Resolution =
  | { readonly kind: "found"; readonly addresses: readonly Address[] }
  | { readonly kind: "failed"; readonly error: LookupError | PrivateNameError; readonly unsent: true };

const REASONS = {
  ENOTFOUND: "it does not exist, or has no address",
  EAI_AGAIN: "its name servers did not answer",
  LOOKUP_NOT_RUN: "this node cannot reach its own name server",
} as const;

/** A name could not be resolved. With `LOOKUP_NOT_RUN` it was not looked up at all, for a reason that lies with the node. */
export class LookupError extends Error {
  override readonly name = "LookupError";
  readonly code: keyof typeof REASONS;
  constructor(hostname: string, code: keyof typeof REASONS) {
    super(`The name ${hostname} could not be resolved: ${REASONS[code]}.`);
    this.code = code;
  }
}

export const failed = (hostname: string, code: LookupError["code"]): Extract<Resolution, { kind: "failed" }> => ({
  kind: "failed",
  error: new LookupError(hostname, code),
  unsent: true,
});
