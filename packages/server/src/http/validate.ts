import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { distance } from "fastest-levenshtein";
import type { FastifySchemaCompiler } from "fastify";
import { problem } from "#kernel";
import { FORMAT_MESSAGES, FORMATS } from "./formats.ts";

/** A field that is wrong, as `details.issues` lists it. */
interface Issue {
  readonly path: string;
  readonly message: string;
}

const MOST_ISSUES = 20;
const FARTHEST_TYPO = 3;

const options = { strict: false, allErrors: false, verbose: true, formats: FORMATS } as const;
/** Bodies are taken as they are: nothing is coerced, nothing is dropped. */
const bodies = new Ajv2020(options);
/** Queries and paths are text: numbers in them are read as numbers. */
const texts = new Ajv2020({ ...options, coerceTypes: true, useDefaults: true });

/** Compiles a route's schemas; what does not fit is thrown as `VALIDATION_ERROR` with the path of each wrong field. */
export const compileSchema: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const validate = (httpPart === "body" ? bodies : texts).compile(schema);
  return (value: unknown) => check(validate, value, httpPart ?? "");
};

/** For a body that is either an array or an object: each is checked by its own schema, so that issues name real paths. */
export const compileArrayOr =
  (arraySchema: object, objectSchema: object): FastifySchemaCompiler<object> =>
  ({ schema, httpPart }) => {
    if (httpPart !== "body") return compileSchema({ schema, httpPart } as Parameters<typeof compileSchema>[0]);
    const array = bodies.compile(arraySchema);
    const object = bodies.compile(objectSchema);
    return (value: unknown) => check(Array.isArray(value) ? array : object, value, "body");
  };

function check(validate: ValidateFunction, value: unknown, part: string): { value: unknown } | { error: Error } {
  if (part === "body" && value === undefined) {
    return { error: problem("VALIDATION_ERROR", { issues: [{ path: "", message: "a JSON body is required" }] }) };
  }
  if (validate(value)) return { value };
  const issues = (validate.errors ?? []).slice(0, MOST_ISSUES).map(issueOf);
  return { error: problem("VALIDATION_ERROR", { issues }, { message: sentence(issues) }) };
}

function issueOf(error: ErrorObject): Issue {
  const path = dotted(error.instancePath);
  switch (error.keyword) {
    case "additionalProperties":
      return { path: join(path, error.params.additionalProperty), message: unknownField(error) };
    case "required":
      return { path: join(path, error.params.missingProperty), message: "is required" };
    case "propertyNames":
      return { path: join(path, error.params.propertyName), message: "is not a name that is allowed here" };
    case "format":
      return { path: error.propertyName ? join(path, error.propertyName) : path, message: FORMAT_MESSAGES[error.params.format] ?? "is malformed" };
    case "enum":
      return { path, message: `must be one of ${(error.params.allowedValues as unknown[]).join(", ")}` };
    case "const":
      return { path, message: `must be ${JSON.stringify(error.params.allowedValue)}` };
    default:
      return { path, message: error.message ?? "is malformed" };
  }
}

/** Names the field that was probably meant, where one is near. */
function unknownField({ params, parentSchema }: ErrorObject): string {
  const typed = String(params.additionalProperty);
  const near = Object.keys((parentSchema as { properties?: object }).properties ?? {})
    .map((name) => ({ name, typos: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, typos }) => typos <= Math.min(FARTHEST_TYPO, Math.floor(name.length / 2)))
    .sort((a, b) => a.typos - b.typos)[0];
  return near ? `is not a known field; did you mean "${near.name}"?` : "is not a known field";
}

/** JSON pointer "/jobs/3/payload" as "jobs[3].payload". */
function dotted(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)), "");
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function sentence([first]: Issue[]): string {
  return first ? `${first.path === "" ? "The request" : first.path} ${first.message}.` : "The request is malformed.";
}
