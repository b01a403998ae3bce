import swagger from "@fastify/swagger";
import { ERRORS, type ErrorCode, Problem } from "@tidemill/contract";
import type { Api } from "./server.ts";

/** Documents every route that is mounted after it, at `GET /doc`. Source: specification, What the service does, 11. */
export async function describeApi(api: Api, version: string): Promise<void> {
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Tidemill",
        version,
        description: "Named queues whose jobs are delivered as signed HTTP callbacks.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "/" }],
      tags: [
        { name: "Queues", description: "Named queues and how their jobs are delivered." },
        { name: "Jobs", description: "Enqueue, watch, cancel and retry." },
        { name: "Dead letters", description: "The failed jobs of all queues." },
      ],
      components: {
        securitySchemes: { workspaceKey: { type: "http", scheme: "bearer", description: "A workspace key: svc_ws_…" } },
      },
    },
  });
  api.get("/doc", { schema: { hide: true } as object }, () => api.swagger());
}

const EVERY_ROUTE: readonly ErrorCode[] = ["VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "INTERNAL", "UNAVAILABLE"];

/** The replies of a route for its schema: its own, and the errors that it can give besides those of every route. */
export function replies(own: Record<number, object>, ...errors: ErrorCode[]): Record<number, object> {
  const documented: Record<number, object> = { ...own };
  for (const code of [...EVERY_ROUTE, ...errors]) {
    const { status, message } = ERRORS[code];
    const details = code === "VALIDATION_ERROR" ? { issues: [{ path: "limit", message: "must be integer" }] } : {};
    documented[status] = { ...Problem, description: message, examples: [{ error: { code, message, details } }] };
  }
  return documented;
}

/** An answer without a body. */
export const noContent = (description: string): object => ({ type: "null", description });
