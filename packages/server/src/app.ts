import type { Registry } from "prom-client";
import { type Api, describeApi, type Module, refuseOtherMethods } from "#http";
import { type Database, row, sql, unavailable, WRITES_REFUSED } from "#kernel";
import { mountDocsPage } from "./docs-page.ts";

interface HealthOptions {
  readonly database: Database;
  readonly isReady: () => boolean;
  /** Whether the node may claim jobs: its lease is valid. */
}

interface PublicOptions {
  /** Whether pages of the dashboard may use the operator API. For all other requests it is not there (http/server.ts). */
  readonly operatorPages?: boolean;
}

/** Mounts the routes of the public listener: the API of all modules, its OpenAPI document, and the health checks. */
export async function mountPublic(
  api: Api,
  modules: readonly Module[],
  health: HealthOptions,
  { operatorPages = false }: PublicOptions = {},
): Promise<void> {
  const refuseOthers = refuseOtherMethods(api);
  await describeApi(api);
  await mountDocsPage(api);
  mountHealth(api, health);
  for (const { routes } of modules) routes?.(api);
  if (operatorPages) for (const { operatorRoutes } of modules) operatorRoutes?.(api);
  refuseOthers();
}

/** Mounts the routes of the internal listener: metrics and the operator API. */
export function mountInternal(api: Api, modules: readonly Module[], metrics: Registry): void {
  const refuseOthers = refuseOtherMethods(api);
  api.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()));
  for (const { operatorRoutes } of modules) operatorRoutes?.(api);
  refuseOthers();
}

function mountHealth(api: Api, { database, isReady }: HealthOptions): void {
  // Load balancers call them by any name.
  const hidden = { schema: { hide: true } as object, config: { anyHost: true } };
  api.get("/healthz", hidden, () => ({ status: "ok" }));
  api.get("/readyz", hidden, async () => {
    if (!isReady()) throw unavailable("The node is starting or stopping.");
    const found = await row<{ is_read_only: boolean }>(
      database,
      sql`select current_setting('transaction_read_only')::boolean as is_read_only`,
    );
    if (found?.is_read_only) throw unavailable(WRITES_REFUSED);
    return { status: "ok" };
  });
}
