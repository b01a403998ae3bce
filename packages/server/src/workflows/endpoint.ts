import type { Plan, PutWorkflow } from "@tidemill/contract";
import { invalid, type Random } from "#kernel";
import { type AddressGuard, generateSigningSecret, hostFault } from "#outbound";
import { requireFeature } from "#workspaces";

/**
 * Checks the address to which executions are sent, beyond its shape.
 *
 * @throws VALIDATION_ERROR for a host that is too long or may not be reached, and for a secret that is both given and rotated;
 *   PLAN_REQUIRED when the workspace's plan has no callbacks
 */
export function checkEndpoint(
  guard: Pick<AddressGuard, "refusesHost">,
  plan: Plan,
  { endpoint_url, endpoint_secret, rotate_endpoint_secret }: PutWorkflow,
): void {
  if (endpoint_secret !== undefined && rotate_endpoint_secret)
    throw invalid("rotate_endpoint_secret", "must not be given with endpoint_secret");
  if (!endpoint_url) return;
  const fault = hostFault(guard, new URL(endpoint_url).hostname);
  if (fault) throw invalid("endpoint_url", fault);
  requireFeature(plan, "callback_url");
}

/** The signing secret of a workflow. */
interface Secret {
  /** The secret that the workflow has from now on. Null: it has none, because it never had an `endpoint_url`. */
  readonly kept: string | null;
  /** The secret, if this request generated it. */
  readonly generated: string | null;
}

/**
 * The secret of a workflow after a request: the given one; a generated one with the first `endpoint_url` or with `rotate_endpoint_secret`;
 * otherwise the one that it had.
 */
export function secretFor(
  { endpoint_url, endpoint_secret, rotate_endpoint_secret }: PutWorkflow,
  former: string | null,
  random: Random,
): Secret {
  if (endpoint_secret !== undefined) return { kept: endpoint_secret, generated: null };
  if (!rotate_endpoint_secret && (former !== null || !endpoint_url)) return { kept: former, generated: null };
  const generated = generateSigningSecret(random);
  return { kept: generated, generated };
}

/** The request as the audit log shows it: without its secret, the address without its query. */
export const withoutCredentials = ({ endpoint_secret, endpoint_url, ...rest }: PutWorkflow): object => ({
  ...rest,
  ...(endpoint_url !== undefined && { endpoint_url: endpoint_url?.replace(/\?.*$/s, "?…") ?? null }),
  ...(endpoint_secret !== undefined && { secret_given: true }),
});
