import swagger from "@fastify/swagger";
import { ERRORS, type ErrorCode, Problem } from "@tidemill/contract";
import type { FastifyContextConfig, FastifySchema } from "fastify";
import type { Api } from "./api.ts";
import { JSON_TYPE } from "./json-text.ts";
import { Components, type Schema } from "./openapi-components.ts";

/** The version of the API, as in its paths. Releases of the service are numbered separately. */
const API_VERSION = "v1";

const DESCRIPTION = `Tidemill is a job queue service. Jobs wait in named queues and are delivered to your handlers as signed HTTP requests (callbacks).

Every request authenticates with a workspace key. All times are RFC 3339 in UTC. A field without a value is \`null\`, never missing.
Unknown fields of a body and unknown query parameters are refused.

Every error has the same envelope, the schema \`Problem\`. A request that fails with a 4xx has changed nothing.`;

interface Operation {
  readonly operationId?: string;
  readonly parameters?: unknown;
  readonly responses?: unknown;
}

/** Serves the OpenAPI document of all routes that are mounted after this call, at `GET /doc`. Source: specification, What the service does, 11. */
export async function describeApi(api: Api): Promise<void> {
  const components = new Components();
  const operations = new Map<unknown, object>();
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Tidemill",
        version: API_VERSION,
        summary: "A self-hosted job queue with signed HTTP callbacks.",
        description: DESCRIPTION,
        contact: { name: "The Tidemill project" },
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "/", description: "The node that serves this document." }],
      tags: [
        { name: "Queues", description: "Named queues, and how their jobs are delivered." },
        { name: "Jobs", description: "Enqueue, list, explain, cancel and retry jobs." },
        { name: "Webhooks", description: "Endpoints that get events of the workspace." },
        { name: "Workers", description: "Programs that take jobs of queues without a callback_url, and settle them." },
        { name: "Workflows", description: "Durable workflows, whose runs workers execute." },
        { name: "Signals", description: "Signals, which runs wait for." },
        { name: "Events", description: "Events, which start runs of the workflows that listen to them." },
        { name: "Runs", description: "Runs of workflows: their journals, and how to cancel and retry them." },
        { name: "Dead letters", description: "The failed jobs of all queues: list, retry or remove them." },
        { name: "Approvals", description: "Jobs of approval queues, which wait until they are approved or rejected." },
        { name: "Schedules", description: "Jobs that are made at the ticks of a cron expression in a time zone." },
        { name: "Secrets", description: "Values for templates like `${{ secrets.NAME }}`, which are filled in when a job is delivered." },
        { name: "Keys", description: "The workspace's keys." },
        { name: "Members", description: "The people of the workspace, and invitations to it." },
        { name: "Audit", description: "The log of who changed what." },
        { name: "Status", description: "The workspace's health, quota and usage." },
      ],
      components: {
        securitySchemes: {
          workspaceKey: {
            type: "http",
            scheme: "bearer",
            description: "A workspace key, `svc_ws_…`. Its role, `read`, `write`, `worker` or `admin`, limits what it may do.",
          },
        },
      },
    },
    transform: ({ schema, url, route: { config } }) => {
      const { params, querystring, headers, body, response, ...rest } = schema;
      if (rest.operationId !== undefined) operations.set(rest.operationId, describeOperation(components, schema, config ?? {}));
      // The operator API is documented elsewhere. Here only pages of the dashboard can use it.
      return { url, schema: { ...rest, ...(config?.access === "operator" && { hide: true }) } };
    },
    transformObject: (described) => {
      if (!("openapiObject" in described)) return described.swaggerObject;
      const { openapiObject: document } = described;
      for (const path of Object.values(document.paths as Record<string, Record<string, Operation>>)) {
        for (const [method, { responses: _, parameters: __, ...head }] of Object.entries(path)) {
          path[method] = { ...head, ...operations.get(head.operationId) };
        }
      }
      Object.assign(document.components ?? {}, components.all());
      return document;
    },
  });
  // All responses share the same bytes, so that responses that nobody reads use no memory of their own.
  let document: Buffer | undefined;
  api.get("/doc", { schema: { hide: true } as object }, (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(api.swagger()));
    return reply.type(JSON_TYPE).send(document);
  });
}

/** The parameters, body and responses of an operation. */
function describeOperation(components: Components, schema: FastifySchema, { emptyBody, rawBody }: Partial<FastifyContextConfig>): object {
  const parametersIn = (place: "path" | "query" | "header", of: unknown) => {
    const { properties = {}, required = [] } = (of ?? {}) as Schema;
    return Object.entries(properties).map(([name, one]) => components.parameter(place, name, one, required.includes(name)));
  };
  const parameters = [
    ...parametersIn("path", schema.params),
    ...parametersIn("query", schema.querystring),
    ...parametersIn("header", schema.headers),
  ];
  /** The content of a response. A text that is not JSON has its own media type. */
  const contentOf = (of: Schema) => {
    if (of.title === undefined) throw new Error(`A schema of ${schema.operationId} has no title.`);
    return { [of.contentMediaType ?? "application/json"]: { schema: components.schema(of), example: of.examples?.[0] } };
  };
  const body = schema.body as Schema | undefined;
  const responses = Object.entries(schema.response as Record<string, Schema & { codes?: ErrorCode[] }>).flatMap(([status, response]) => {
    const { codes, type, description } = response;
    if (codes) return [[status, components.problem(codes)]];
    return [[status, { description, headers: components.headers(), ...(type !== "null" && { content: contentOf(response) }) }]];
  });
  return {
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !emptyBody && !rawBody, description: body.description, content: contentOf(body) } }),
    responses: Object.fromEntries(responses),
  };
}

const EVERY_ROUTE: readonly ErrorCode[] = ["VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED", "INTERNAL", "UNAVAILABLE"];

/** The responses of a route for its schema: its own, the errors that every route can give, and the listed errors. */
export function replies(own: Record<number, object>, ...errors: ErrorCode[]): Record<number, object> {
  const codes = [...EVERY_ROUTE, ...errors];
  const documented: Record<number, object> = { ...own };
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    documented[status] = { ...Problem, codes: codes.filter((code) => ERRORS[code].status === status) };
  }
  return documented;
}

/** A response without a body. */
export const noContent = (description: string): object => ({ type: "null", description });
