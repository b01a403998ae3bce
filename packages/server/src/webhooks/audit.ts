import type { AuditEventType, CreateWebhook, PatchWebhook } from "@tidemill/contract";
import type { NewAuditEvent } from "#audit";
import type { WorkspaceId } from "#kernel";

/** An event about a webhook, for the audit log. */
export const webhookEvent = (
  { workspaceId, actorId }: { readonly workspaceId: WorkspaceId; readonly actorId: string },
  eventType: Extract<AuditEventType, `webhook.${string}`>,
  name: string,
  { input = null, output = null }: { readonly input?: object | null; readonly output?: object | null } = {},
): NewAuditEvent => ({ workspaceId, actorId, eventType, resourceType: "webhook", resourceId: name, input, output });

/** The request without what is often a credential: headers by their names only, the address without its query. */
export const withoutCredentials = ({ headers, url, ...rest }: CreateWebhook | PatchWebhook): object => ({
  ...rest,
  ...(url !== undefined && { url: url.replace(/\?.*$/s, "?…") }),
  ...(headers && { headers: Object.keys(headers) }),
});
