import { TidemillError } from "./error.ts";

/** A schema from any library that follows Standard Schema, version 1 (https://standardschema.dev): zod, valibot, arktype and others. */
export interface StandardSchema<Input, Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** @throws {TypeError} naming the option */
export function checkSchema(option: string, schema: unknown): void {
  const standard = (schema as Partial<StandardSchema<unknown>> | null | undefined)?.["~standard"];
  if (schema === undefined || typeof standard?.validate === "function") return;
  throw new TypeError(`${option} must be a schema that follows Standard Schema, for example of zod, valibot or arktype.`);
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/**
 * Parses a payload with its schema.
 *
 * @throws {TidemillError} VALIDATION_ERROR, with the paths of the service's own errors
 */
export async function parsePayload<Output>(schema: StandardSchema<unknown, Output>, payload: unknown, path = "payload"): Promise<Output> {
  const checked = schema["~standard"].validate(payload);
  const result = checked instanceof Promise ? await checked : checked;
  if (!result.issues) return result.value;
  const issues = result.issues.map((issue) => ({ path: [path, ...keysOf(issue.path ?? [])].join(""), message: issue.message }));
  const [first] = issues;
  throw new TidemillError({
    code: "VALIDATION_ERROR",
    message: `${first?.path ?? path}: ${first?.message ?? "is not valid"}`,
    details: { issues },
  });
}

/**
 * Checks a payload against its schema. The payload is sent as it was given, so that the handler can parse it with the same schema.
 *
 * @throws {TidemillError} VALIDATION_ERROR, with the paths of the service's own errors
 */
export async function checkPayload(schema: StandardSchema<unknown>, payload: unknown, path = "payload"): Promise<void> {
  await parsePayload(schema, payload, path);
}

const keysOf = (path: readonly (PropertyKey | { readonly key: PropertyKey })[]): string[] =>
  path.map((part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? `[${key}]` : `.${String(key)}`;
  });
