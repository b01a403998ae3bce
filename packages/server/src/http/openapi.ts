import { STATUS_CODES } from "node:http";
import swagger from "@fastify/swagger";
import { ERRORS, type ErrorCode, LIMITS, Problem, plansWith } from "@tidemill/contract";
import { RATE_HEADERS } from "./rate-limit.ts";
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
        { name: "Approvals", description: "Jobs that wait until somebody approves or rejects them." },
        { name: "Schedules", description: "Jobs by the clock: a cron expression in a time zone." },
        { name: "Secrets", description: "The vault: values for `${{ secrets.NAME }}`, put in as jobs are delivered." },
        { name: "Keys", description: "The workspace's own keys." },
        { name: "Audit", description: "Who did what." },
        { name: "Status", description: "The workspace's health, quota and usage." },
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

const EVERY_ROUTE: readonly ErrorCode[] = ["VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED", "INTERNAL", "UNAVAILABLE"];

const DETAILS: Partial<Record<ErrorCode, object>> = {
  VALIDATION_ERROR: { issues: [{ path: "limit", message: "must be integer" }] },
  FORBIDDEN: { role: "read", needs: "write" },
  QUOTA_EXCEEDED: { used: 10_000, limit: 10_000, plan: "free" },
  PLAN_REQUIRED: { feature: "callback_url", plan: "free", required_plans: plansWith("callback_url") },
  CONFLICT: { name: "emails" },
  INVALID_STATE: { state: "completed", allowed_from: ["failed", "cancelled", "rejected"] },
  IDEMPOTENCY_MISMATCH: { idempotencyKey: "order-1815-receipt", index: 0 },
  PAYLOAD_TOO_LARGE: { limit_bytes: LIMITS.bodyBytes },
  RATE_LIMITED: { limit: 300, retry_after_seconds: 12 },
};

const REQUEST_ID = { "X-Request-Id": { type: "string", description: "Id of the request, which stands in the log too." } };
const EVERY_REPLY = { ...REQUEST_ID, ...RATE_HEADERS };
const HEADERS: Partial<Record<ErrorCode, object>> = {
  UNAUTHORIZED: { "WWW-Authenticate": { type: "string", const: "Bearer", description: "How to authenticate." } },
  RATE_LIMITED: { "Retry-After": { type: "integer", minimum: 1, description: "When a request is let through again. Seconds from now." } },
  UNAVAILABLE: { "Retry-After": { type: "integer", minimum: 0, description: "When to try again. Seconds from now." } },
};

/** The replies of a route for its schema: its own, and the errors that it can give besides those of every route. */
export function replies(own: Record<number, object>, ...errors: ErrorCode[]): Record<number, object> {
  const documented: Record<number, object> = {};
  for (const [status, schema] of Object.entries(own)) {
    documented[Number(status)] = { description: STATUS_CODES[status], ...schema, headers: EVERY_REPLY };
  }
  for (const code of [...EVERY_ROUTE, ...errors]) {
    const { status, message } = ERRORS[code];
    const other = documented[status] as { description: string; examples: object[] } | undefined;
    documented[status] = {
      ...Problem,
      description: other ? `${other.description} ${message}` : message,
      // Who sent a request without a valid key is not known.
      headers: { ...(code === "UNAUTHORIZED" ? REQUEST_ID : EVERY_REPLY), ...HEADERS[code] },
      examples: [...(other?.examples ?? []), { error: { code, message, details: DETAILS[code] ?? {} } }],
    };
  }
  return documented;
}

/** An answer without a body. */
export const noContent = (description: string): object => ({ type: "null", description });
