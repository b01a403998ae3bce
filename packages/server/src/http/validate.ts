import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { FastifySchemaCompiler } from "fastify";
import { cut, type Issue, malformed, nearest } from "#kernel";
import { FORMATS } from "./formats.ts";
import { messageOf } from "./schema-messages.ts";

/** The maximum number of issues that one error lists. */
export const MAX_ISSUES = 20;
/** Longer names are cut in the paths of issues. */
const MAX_NAME_LENGTH = 100;

/** The schemas are our own: a test checks them, not each start. */
const options = {
  strict: false,
  allErrors: false,
  verbose: true,
  formats: FORMATS,
  validateSchema: false,
  // Optimizing the code takes as long as generating it, and saves too little to be measured.
  code: { optimize: false },
} as const;
/** Values are validated as they are: nothing is coerced or dropped. */
const bodies = new Ajv2020(options);
const texts = new Ajv2020({ ...options, useDefaults: true });

type Validated = { value: unknown } | { error: Error };

/**
 * Validates values of one part of requests. Its schema is compiled with the first value, unless it was compiled before: all schemas
 * together take 0.2 s.
 */
export interface Validator {
  (value: unknown): Validated;
  compile(): void;
}

export type ValidatorCompiler = (route: Parameters<FastifySchemaCompiler<object>>[0]) => Validator;

function compiled(ajv: Ajv2020, schema: object): () => ValidateFunction {
  let validate: ValidateFunction | undefined;
  return () => (validate ??= ajv.compile(schema));
}

/** Compiles a route's schemas. A value that does not match fails with `VALIDATION_ERROR`, which has the path of each invalid field. */
export const compileSchema: ValidatorCompiler = ({ schema, httpPart }) => {
  if (httpPart === "body") {
    const compile = compiled(bodies, schema);
    return Object.assign((value: unknown) => check(compile(), value, "body"), { compile });
  }
  const compile = compiled(texts, httpPart === "headers" ? inLowerCase(schema) : schema);
  const integers = integersOf(schema);
  const validate = (value: unknown) => check(compile(), withIntegers(value as Record<string, unknown>, integers), httpPart ?? "");
  return Object.assign(validate, { compile });
};

/** Documented header names have their usual capitals. Node's are in lower case, so the schema for validation is in lower case, too. */
const inLowerCase = ({ properties = {}, ...schema }: { properties?: object }): object => ({
  ...schema,
  properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name.toLowerCase(), one])),
});

const integersOf = (schema: { properties?: Record<string, { type?: string }> }): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, { type }]) => (type === "integer" ? [name] : []));

/** Queries and paths are text. An integer in them is written in decimal digits, not as 1e1 or 0x10. */
function withIntegers(texts: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  for (const name of names) {
    const text = texts[name];
    if (typeof text === "string" && /^-?\d{1,15}$/.test(text)) texts[name] = Number(text);
  }
  return texts;
}

/**
 * Compiles schemas for a body that is either an array or an object. Each has its own schema, so that the paths of issues exist in the body.
 */
export const compileArrayOr =
  (arraySchema: object, objectSchema: object): ValidatorCompiler =>
  (route) => {
    if (route.httpPart !== "body") return compileSchema(route);
    const array = compiled(bodies, arraySchema);
    const object = compiled(bodies, objectSchema);
    const validate = (value: unknown) => check(Array.isArray(value) ? array() : object(), value, "body");
    return Object.assign(validate, {
      compile: () => {
        array();
        object();
      },
    });
  };

/** Compiles a schema for JSON that is not the body of a request. Returns the VALIDATION_ERROR of a value that does not match, or null. */
export function compileCheck(schema: object): (value: unknown) => Error | null {
  const validate = compiled(bodies, schema);
  return (value) => {
    const checked = check(validate(), value, "");
    return "error" in checked ? checked.error : null;
  };
}

function check(validate: ValidateFunction, value: unknown, part: string): Validated {
  if (validate(value)) return { value };
  // Fastify passes null for a missing body.
  const issues = part === "body" && value === null ? [{ path: "", message: "needs a JSON body" }] : issuesOf(validate.errors ?? []);
  return { error: malformed(issues) };
}

function issuesOf(errors: ErrorObject[]): Issue[] {
  // For a value that may be null, "must be null" is not helpful. The other alternative's errors are.
  const helpful = errors.filter(({ keyword, params }) => !["anyOf", "propertyNames"].includes(keyword) && params.type !== "null");
  return (helpful.length > 0 ? helpful : errors).flatMap((error) => [issueOf(error), ...misspelt(error)]).slice(0, MAX_ISSUES);
}

/** When a field is missing, lists the unknown fields beside it: one of them may be a misspelling of the missing one. */
function misspelt(error: ErrorObject): Issue[] {
  const { properties, additionalProperties } = error.parentSchema as { properties?: object; additionalProperties?: unknown };
  if (error.keyword !== "required" || !properties || additionalProperties !== false) return [];
  return Object.keys(error.data as object)
    .filter((name) => !Object.hasOwn(properties, name))
    .slice(0, MAX_ISSUES)
    .map((name) => ({ path: join(dotted(error.instancePath), name), message: unknownField(name, properties) }));
}

function issueOf(error: ErrorObject): Issue {
  const container = dotted(error.instancePath);
  // When the name of a member is invalid, the path is that of the member.
  const path = error.propertyName === undefined ? container : join(container, error.propertyName);
  switch (error.keyword) {
    case "additionalProperties":
      return {
        path: join(path, error.params.additionalProperty),
        message: unknownField(error.params.additionalProperty, propertiesOf(error)),
      };
    case "required":
      return { path: join(path, error.params.missingProperty), message: messageOf(error) };
    default:
      return { path, message: messageOf(error) };
  }
}

const propertiesOf = ({ parentSchema }: ErrorObject): object => (parentSchema as { properties?: object }).properties ?? {};

/** Suggests the field that was probably meant, if there is a similar one. */
function unknownField(typed: string, properties: object): string {
  const near = nearest(typed, Object.keys(properties));
  return near ? `is not a known field; did you mean "${near}"?` : "is not a known field";
}

/** JSON pointer "/jobs/3/payload" as "jobs[3].payload". */
function dotted(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map(unescapedStart)
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)), "");
}

/** The beginning of a name in a pointer, as much as is shown. An escaped character has two characters. */
const unescapedStart = (part: string): string =>
  part
    .slice(0, 2 * (MAX_NAME_LENGTH + 1))
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");

const join = (path: string, name: string): string => (path === "" ? cut(name, MAX_NAME_LENGTH) : `${path}.${cut(name, MAX_NAME_LENGTH)}`);
