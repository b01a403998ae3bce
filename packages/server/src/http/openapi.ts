import { STATUS_CODES } from "node:http";
import swagger from "@fastify/swagger";
import { ERRORS, type ErrorCode, LIMITS, Problem } from "@tidemill/contract";
import type { Api } from "./server.ts";

/** Documents every route that is mounted after it, at `GET /doc`. Source: specification, What the service does, 11. */
export async function describeApi(api: Api, version: string): Promise<void> {
  /** Operations that take no body for an empty one. */
  const optionalBodies = new Set<string>();
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
    transform: ({ schema, url, route: { config } }) => {
      if (config?.emptyBody && schema?.operationId) optionalBodies.add(schema.operationId);
      return { url, schema: config?.access === "read" ? withoutForbidden(schema) : schema };
    },
    transformObject: (described) => {
      if (!("openapiObject" in described)) return described.swaggerObject;
      for (const path of Object.values(described.openapiObject.paths ?? {})) {
        for (const operation of Object.values(path as Record<string, { operationId?: string; requestBody?: { required?: boolean } }>)) {
          if (operation.requestBody && optionalBodies.has(operation.operationId ?? "")) operation.requestBody.required = false;
        }
      }
      return described.openapiObject;
    },
  });
  api.get("/doc", { schema: { hide: true } as object }, () => api.swagger());
}

/** Reading is allowed to a key of any role. */
function withoutForbidden<Schema extends { response?: unknown }>(schema: Schema): Schema {
  const { [ERRORS.FORBIDDEN.status]: _, ...response } = (schema.response ?? {}) as Record<number, object>;
  return { ...schema, response };
}

const EVERY_ROUTE: readonly ErrorCode[] = ["VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "INTERNAL", "UNAVAILABLE"];

const DETAILS: Partial<Record<ErrorCode, object>> = {
  VALIDATION_ERROR: { issues: [{ path: "limit", message: "must be integer" }] },
  FORBIDDEN: { role: "read", needs: "write" },
  CONFLICT: { name: "emails" },
  INVALID_STATE: { state: "completed", allowed_from: ["failed", "cancelled", "rejected"] },
  PAYLOAD_TOO_LARGE: { limit_bytes: LIMITS.bodyBytes },
};

const REQUEST_ID = { "X-Request-Id": { type: "string", description: "Id of the request, which stands in the log too." } };
const HEADERS: Partial<Record<ErrorCode, object>> = {
  UNAUTHORIZED: { "WWW-Authenticate": { type: "string", const: "Bearer", description: "How to authenticate." } },
  UNAVAILABLE: { "Retry-After": { type: "integer", minimum: 0, description: "When to try again. Seconds from now." } },
};

/** The replies of a route for its schema: its own, and the errors that it can give besides those of every route. */
export function replies(own: Record<number, object>, ...errors: ErrorCode[]): Record<number, object> {
  const documented: Record<number, object> = {};
  for (const [status, schema] of Object.entries(own)) {
    documented[Number(status)] = { description: STATUS_CODES[status], ...schema, headers: REQUEST_ID };
  }
  for (const code of [...EVERY_ROUTE, ...errors]) {
    const { status, message } = ERRORS[code];
    const examples = [{ error: { code, message, details: DETAILS[code] ?? {} } }];
    documented[status] = { ...Problem, description: message, headers: { ...REQUEST_ID, ...HEADERS[code] }, examples };
  }
  return documented;
}

/** An answer without a body. */
export const noContent = (description: string): object => ({ type: "null", description });
