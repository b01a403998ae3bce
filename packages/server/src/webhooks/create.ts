import { type CreateWebhook, LIMITS } from "@tidemill/contract";
import { invalid, problem, type Transactional } from "#kernel";
import { lockWorkspace, requireFeature } from "#workspaces";
import { webhookEvent, withoutCredentials } from "./audit.ts";
import { checkWebhook } from "./check.ts";
import { countWebhooks, insertWebhook } from "./store.ts";
import { refreshTopics } from "./topics.ts";
import { generateWebhookSecret, type Webhook, type WebhookActor, type WebhookContext } from "./webhook.ts";

/**
 * Creates a webhook with a secret, which only this response contains.
 *
 * @throws PLAN_REQUIRED; CONFLICT when the workspace has a webhook of that name; VALIDATION_ERROR for a host that may not be reached, an
 *   invalid template, or one webhook more than the limit
 */
export function createWebhook(
  database: Transactional,
  { random, audit, guard }: WebhookContext,
  actor: WebhookActor,
  request: CreateWebhook,
): Promise<{ webhook: Webhook; secret: string }> {
  requireFeature(actor.plan, "webhooks");
  checkWebhook(guard, request);
  const { workspaceId } = actor;
  const { name, url, events, headers } = request;
  const secret = generateWebhookSecret(random);
  return database.transaction(async (tx) => {
    await lockWorkspace(tx, workspaceId);
    if ((await countWebhooks(tx, workspaceId)) >= LIMITS.webhooks)
      throw invalid("name", `cannot be added: the workspace already has ${LIMITS.webhooks} webhooks, which is the limit`);
    const settings = { url, headers: headers && JSON.stringify(headers), events, secret, enabled: true };
    const webhook = await insertWebhook(tx, workspaceId, name, settings);
    if (!webhook) throw problem("CONFLICT", { name }, { message: `The webhook "${name}" already exists.` });
    await refreshTopics(tx, workspaceId);
    await audit.record(tx, webhookEvent(actor, "webhook.created", name, { input: withoutCredentials(request) }));
    return { webhook, secret };
  });
}
