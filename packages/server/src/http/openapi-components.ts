import { ERRORS, type ErrorCode, LIMITS, Problem, plansWith } from "@tidemill/contract";
import { RATE_HEADERS } from "./rate-limit.ts";

/** A JSON Schema of the contract. A schema with a title becomes a component of that name. */
export interface Schema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly contentMediaType?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

type Kind = "schemas" | "parameters" | "headers" | "responses";
type Part = Record<string, unknown>;

const DETAILS: Partial<Record<ErrorCode, object>> = {
  VALIDATION_ERROR: { issues: [{ path: "limit", message: "must be a whole number" }] },
  FORBIDDEN: { role: "read", needs: "write" },
  QUOTA_EXCEEDED: { used: 10_000, limit: 10_000, plan: "free", resets_at: "2026-12-01T00:00:00.000Z" },
  PLAN_REQUIRED: { feature: "callback_url", plan: "free", required_plans: plansWith("callback_url") },
  CONFLICT: { name: "emails" },
  INVALID_STATE: { state: "completed", allowed_from: ["failed", "cancelled", "rejected"] },
  IDEMPOTENCY_MISMATCH: { idempotencyKey: "order-1815-receipt", index: 0 },
  PAYLOAD_TOO_LARGE: { limit_bytes: LIMITS.bodyBytes },
  RATE_LIMITED: { limit: 300, retry_after_seconds: 12 },
};

const REQUEST_ID = { "X-Request-Id": { type: "string", description: "Id of the request. The service's log has it too." } };
const EVERY_RESPONSE = { ...REQUEST_ID, ...RATE_HEADERS };
const RETRY_AFTER = { "Retry-After": { type: "integer", minimum: 1, description: "When to send the request again. Seconds from now." } };
const ERROR_HEADERS: Partial<Record<ErrorCode, Record<string, Schema>>> = {
  UNAUTHORIZED: { "WWW-Authenticate": { type: "string", const: "Bearer", description: "How to authenticate." } },
  RATE_LIMITED: RETRY_AFTER,
  UNAVAILABLE: RETRY_AFTER,
};

/** The components of the OpenAPI document, collected as operations refer to them. */
export class Components {
  readonly #parts: Record<Kind, Map<string, Part>> = {
    schemas: new Map(),
    parameters: new Map(),
    headers: new Map(),
    responses: new Map(),
  };

  /** All components, sorted by name within each kind. */
  all(): Record<Kind, Record<string, Part>> {
    const sorted = (kind: Kind) => Object.fromEntries([...this.#parts[kind]].sort(([a], [b]) => (a < b ? -1 : 1)));
    return { schemas: sorted("schemas"), parameters: sorted("parameters"), headers: sorted("headers"), responses: sorted("responses") };
  }

  /** A schema in the document: by reference when it has a title. */
  schema(schema: Schema): Part {
    const { title, ...untitled } = schema;
    return title === undefined ? this.#inline(untitled) : this.#refer("schemas", title, this.#inline(untitled));
  }

  /** Query parameters and headers have their schemas inline. Path parameters refer to the schema of a record's field. */
  parameter(place: "path" | "query" | "header", name: string, schema: Schema, required: boolean): Part {
    const { title, description, examples = [], ...bare } = schema;
    if (title === undefined || description === undefined) throw new Error(`The parameter ${name} has no title or no description.`);
    const shown = place === "path" ? this.schema(schema) : this.#inline(bare);
    return this.#refer("parameters", title, { name, in: place, required, description, schema: shown, example: examples[0] });
  }

  headers(headers: Readonly<Record<string, Schema>> = EVERY_RESPONSE): Part {
    return Object.fromEntries(
      Object.entries(headers).map(([name, { description, ...schema }]) => [name, this.#refer("headers", name, { description, schema })]),
    );
  }

  /** The error response of a status that has these codes. */
  problem(codes: readonly ErrorCode[]): Part {
    const examples = codes.map((code) => [
      code,
      { value: { error: { code, message: ERRORS[code].message, details: DETAILS[code] ?? {} } } },
    ]);
    return this.#refer("responses", codes.map(inPascalCase).join("Or"), {
      description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join(" "),
      headers: this.headers({
        // Without a valid key the workspace is unknown, so there are no rate limit headers.
        ...(codes.includes("UNAUTHORIZED") ? REQUEST_ID : EVERY_RESPONSE),
        ...Object.assign({}, ...codes.map((code) => ERROR_HEADERS[code])),
      }),
      content: { "application/json": { schema: this.schema(Problem as Schema), examples: Object.fromEntries(examples) } },
    });
  }

  #refer(kind: Kind, name: string, part: Part): Part {
    const known = this.#parts[kind].get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(part)) throw new Error(`Two different ${kind} are called ${name}.`);
    this.#parts[kind].set(name, part);
    return { $ref: `#/components/${kind}/${name}` };
  }

  #inline({ properties, patternProperties, items, anyOf, examples, ...schema }: Schema): Part {
    const nullable = anyOf && nullableOf(anyOf);
    if (nullable) return this.#inline({ ...nullable, ...schema });
    return {
      ...(schema.type === undefined && schema.enum?.every((one) => typeof one === "string") && { type: "string" }),
      ...schema,
      ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, this.schema(one)])) }),
      ...(patternProperties && { additionalProperties: this.schema(Object.values(patternProperties)[0] as Schema) }),
      ...(items && { items: this.schema(items) }),
      ...(anyOf && { anyOf: anyOf.map((one) => this.schema(one)) }),
      // Requests and responses have the examples of objects.
      ...(examples && schema.type !== "object" && !anyOf && { examples }),
    };
  }
}

/** Merges "a value or null" into one schema with both types, if the value's schema has no title and no list of values. */
function nullableOf([value, none, ...more]: readonly Schema[]): object | null {
  if (!value?.type || value.title !== undefined || value.enum || value.const !== undefined) return null;
  return none?.type === "null" && more.length === 0 ? { ...value, type: [value.type, "null"] } : null;
}

/** `NOT_FOUND` as `NotFound`. */
const inPascalCase = (code: string): string => code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
