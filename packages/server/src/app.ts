import type { Registry } from "prom-client";
import { type Api, describeApi, type Module, refuseOtherMethods } from "#http";
import { type Database, rows, sql, unavailable } from "#kernel";

interface HealthOptions {
  readonly database: Database;
  readonly isReady: () => boolean;
}

/** Mounts the routes of the public listener: the API of all modules, its OpenAPI document, and the health checks. */
export async function mountPublic(api: Api, modules: readonly Module[], health: HealthOptions): Promise<void> {
  const refuseOthers = refuseOtherMethods(api);
  await describeApi(api);
  await mountDocs(api);
  mountHealth(api, health);
  for (const { routes } of modules) routes?.(api);
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
  const hidden = { schema: { hide: true } as object };
  api.get("/healthz", hidden, () => ({ status: "ok" }));
  api.get("/readyz", hidden, async () => {
    if (!isReady()) throw unavailable("The node is starting or stopping.");
    await rows(database, sql`select 1`);
    return { status: "ok" };
  });
}

/** Mounts the page that shows the OpenAPI document to people. */
async function mountDocs(api: Api): Promise<void> {
  const { default: swaggerUi } = await import("@fastify/swagger-ui");
  await api.register(swaggerUi, {
    routePrefix: "/docs",
    uiConfig: { url: "/doc", persistAuthorization: true },
    theme: { title: "Tidemill" },
    logo: { type: "image/svg+xml", content: LOGO, href: "/docs/", target: "_self" },
  });
}

const LOGO = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="40"><text x="0" y="28" font-family="sans-serif" font-size="26" fill="#fff">Tidemill</text></svg>',
);
