import type { Service } from "./service.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema from /doc. A wrong guess fails the test.
export type Schema = any;

export interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  /** Replaces `example` if there are several. */
  readonly examples?: Record<string, { readonly value: unknown }>;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: string | number;
}

export interface DocumentedResponse {
  readonly description: string;
  readonly headers?: Record<string, { readonly schema: Schema; readonly description?: string }>;
  readonly content?: Record<string, Media>;
}

/** An operation of /doc: a path and a method. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Record<string, Media> };
  readonly responses: Record<string, DocumentedResponse>;
}

/** Replaces every `$ref` in a part of the document by its target. */
export function resolved(document: Schema, part: Schema): Schema {
  const known = new Map<string, Schema>();
  const resolve = (one: Schema): Schema => {
    if (typeof one !== "object" || one === null) return one;
    if (Array.isArray(one)) return one.map(resolve);
    const { $ref, ...rest } = one;
    if (typeof $ref !== "string") return Object.fromEntries(Object.entries(one).map(([name, value]) => [name, resolve(value)]));
    const target = known.get($ref) ?? resolve(referred(document, $ref));
    known.set($ref, target);
    return Object.keys(rest).length > 0 ? { ...target, ...resolve(rest) } : target;
  };
  return resolve(part);
}

/** The target of a reference within the document. */
function referred(document: Schema, $ref: string): Schema {
  const found = $ref
    .replace(/^#\//, "")
    .split("/")
    .reduce((part: Schema, name) => part?.[name], document);
  if (!$ref.startsWith("#/") || found === undefined) throw new Error(`The document has no ${$ref}.`);
  return found;
}

/** Every /v1 operation of the running node's /doc, with references resolved. */
export async function operationsOf(service: Service): Promise<Operation[]> {
  const { body } = await service.api("GET", "/doc");
  const documented = resolved(body, body.paths) as Record<string, Record<string, Schema>>;
  const paths = Object.entries(documented).filter(([path]) => path.startsWith("/v1/"));
  return paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], ...operation }]) => ({
      ...operation,
      parameters,
      id: operationId,
      method: method.toUpperCase(),
      path,
    })),
  );
}

/** The operation's path with its parameters replaced by the given values, or by the examples in /doc. */
export const pathOf = ({ path, parameters }: Operation, values: Record<string, string> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? String(parameters.find((one) => one.name === name)?.example)));

export const examplesOf = ({ example, examples }: Media): unknown[] =>
  examples ? Object.values(examples).map(({ value }) => value) : [example];

/** The schema of the operation's JSON request body. */
export const bodySchemaOf = (operation: Operation): Schema => operation.requestBody?.content["application/json"]?.schema;
