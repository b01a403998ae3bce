import type { Registry } from "prom-client";
import { type ApprovalRoutes, mountApprovals } from "#approvals";
import { type AuditRoutes, mountAudit } from "#audit";
import { type DispatchRoutes, mountDispatch } from "#dispatch";
import { type Api, describeApi, refuseOtherMethods } from "#http";
import { type JobRoutes, mountJobs } from "#jobs";
import { type Database, rows, sql, unavailable } from "#kernel";
import { mountQueues, type QueueRoutes } from "#queues";
import { mountSchedules, type ScheduleRoutes } from "#schedules";
import { mountSecrets, type SecretRoutes } from "#secrets";
import { mountStatus, type StatusRoutes } from "#status";
import { mountUsage } from "#usage";
import { type KeyRoutes, mountKeys, mountOperatorApi, type OperatorRoutes } from "#workspaces";

export interface PublicApp
  extends QueueRoutes,
    JobRoutes,
    DispatchRoutes,
    ApprovalRoutes,
    ScheduleRoutes,
    SecretRoutes,
    AuditRoutes,
    StatusRoutes,
    KeyRoutes {
  readonly database: Database;
  readonly isReady: () => boolean;
}

/** Mounts all that the public listener serves. */
export async function mountPublic(api: Api, app: PublicApp): Promise<void> {
  const refuseOthers = refuseOtherMethods(api);
  await describeApi(api);
  await mountDocs(api);
  mountHealth(api, app);
  mountQueues(api, app);
  mountJobs(api, app);
  mountDispatch(api, app);
  mountApprovals(api, app);
  mountSchedules(api, app);
  mountSecrets(api, app);
  mountAudit(api, app);
  mountKeys(api, app);
  mountUsage(api, app);
  mountStatus(api, app);
  refuseOthers();
}

/** Mounts what the internal listener serves: metrics and the operator API. */
export function mountInternal(api: Api, metrics: Registry, routes: OperatorRoutes): void {
  const refuseOthers = refuseOtherMethods(api);
  api.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()));
  mountOperatorApi(api, routes);
  refuseOthers();
}

function mountHealth(api: Api, { database, isReady }: PublicApp): void {
  const hidden = { schema: { hide: true } as object };
  api.get("/healthz", hidden, () => ({ status: "ok" }));
  api.get("/readyz", hidden, async () => {
    if (!isReady()) throw unavailable("The node is stopping.");
    await rows(database, sql`select 1`);
    return { status: "ok" };
  });
}

/** The page that shows `/doc` to people. */
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
