import { CreateSecret, ListSecrets, Page, PatchSecret, SecretPath, Secret as SecretRecord } from "@tidemill/contract";
import { requestActor } from "#audit";
import { type Api, nextPage, noContent, readPage, replies, routeDefaults, workspaceOf } from "#http";
import type { Tenants } from "#kernel";
import { createSecret } from "./create.ts";
import { deleteSecret } from "./delete.ts";
import { patchSecret } from "./patch.ts";
import { readSecretId, showSecret, showSecretId, type Vault } from "./secret.ts";
import { listSecrets } from "./store.ts";

export interface SecretRoutes {
  readonly tenants: Tenants;
  readonly vault: Vault;
}

const { tags, security } = routeDefaults("Secrets");

/** The endpoints of secrets. Changes need an admin key: a lesser one must not lift the limits of a secret. */
export function mountSecrets(api: Api, { tenants, vault }: SecretRoutes): void {
  api.get(
    "/v1/secrets",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List secrets",
        description: "Returns the secrets of the workspace, newest first, without their values.",
        operationId: "listSecrets",
        querystring: ListSecrets,
        response: replies({ 200: Page(SecretRecord) }),
      },
    },
    async (request) => {
      const page = readPage(request.query, readSecretId);
      const workspaceId = workspaceOf(request);
      const found = await listSecrets(tenants.of(workspaceId), workspaceId, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, showSecretId);
      return { data: rows.map(showSecret), next_cursor: nextCursor };
    },
  );

  api.post(
    "/v1/secrets",
    {
      config: { access: "admin", confirm: true },
      schema: {
        tags,
        security,
        summary: "Store a secret",
        description:
          "Stores a secret, encrypted. No response ever contains its value. Jobs and queue settings use it as `${{ secrets.NAME }}`. " +
          "`CONFLICT` means that the name is taken.",
        operationId: "createSecret",
        body: CreateSecret,
        response: replies({ 201: SecretRecord }, "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      return reply.code(201).send(showSecret(await createSecret(tenants.of(actor.workspaceId), vault, actor, request.body)));
    },
  );

  api.patch(
    "/v1/secrets/:name",
    {
      config: { access: "admin", confirm: true },
      schema: {
        tags,
        security,
        summary: "Change a secret",
        description:
          "Replaces the value of a secret, or its restrictions. Each attempt that starts from now on uses the new value. Fields that are " +
          "left out stay as they are. `INVALID_STATE` means that the stored secret cannot be decrypted, because it was altered in the " +
          "database: give `value`, `allowed_queues` and `allowed_hosts` together.",
        operationId: "patchSecret",
        params: SecretPath,
        body: PatchSecret,
        response: replies({ 200: SecretRecord }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const actor = requestActor(request);
      return showSecret(await patchSecret(tenants.of(actor.workspaceId), vault, actor, request.params.name, request.body));
    },
  );

  api.delete(
    "/v1/secrets/:name",
    {
      config: { access: "admin", confirm: true },
      schema: {
        tags,
        security,
        summary: "Delete a secret",
        description: "Removes a secret and its encryption key for good. Later attempts that name it fail with `SECRET_NOT_FOUND`.",
        operationId: "deleteSecret",
        params: SecretPath,
        response: replies({ 204: noContent("The secret is gone.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      await deleteSecret(tenants.of(actor.workspaceId), vault.audit, actor, request.params.name);
      return reply.code(204).send();
    },
  );
}
