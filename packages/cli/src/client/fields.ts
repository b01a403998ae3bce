import { type Command, InvalidArgumentError, Option } from "commander";
import { parseExactly } from "../parse-exactly.ts";

/** The part of a JSON schema that decides how a field is written on the command line. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly description?: string;
  readonly examples?: readonly unknown[];
}

interface ObjectSchema {
  readonly properties: object;
  readonly required?: readonly string[] | undefined;
}

/** Represents null, which commander would take for an option without a value. */
const NONE = Symbol("none");

type Fields = readonly [name: string, schema: Schema][];

const fieldsOf = ({ properties }: ObjectSchema, except: readonly string[]): Fields =>
  (Object.entries(properties) as [string, Schema][]).filter(([name]) => !except.includes(name));

/**
 * Adds an option for each field of a request, as the contract describes it: `callback_url` becomes `--callback-url`.
 *
 * @param except fields that the command gets in another way
 */
export function addFields(command: Command, schema: ObjectSchema, except: readonly string[] = []): Command {
  for (const [name, field] of fieldsOf(schema, except)) {
    const { shape, nullable } = withoutNull(field);
    const isRequired = schema.required?.includes(name) ?? false;
    const flag = flagOf(name);
    const about = [describe(field, shape), ...hintsOf(name, shape)].join(" ") + (isRequired ? " (required)" : "");
    if (shape.type === "boolean") command.option(`--${flag}`, about);
    else command.addOption(optionOf(flag, placeholder(name, shape), shape, nullable, about).makeOptionMandatory(isRequired));
  }
  return command;
}

/** Reads the fields that the options give. */
export function readFields<Request>(schema: ObjectSchema, options: object, except: readonly string[] = []): Request {
  const given = options as Record<string, unknown>;
  const pairs = fieldsOf(schema, except).map(([name]) => [name, given[attributeOf(flagOf(name))]] as const);
  const present = pairs.filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, value === NONE ? null : value])) as Request;
}

function optionOf(flag: string, value: string, shape: Schema, nullable: boolean, about: string): Option {
  const option = new Option(`--${flag} <${value}>`, about);
  const parse = parserOf(shape);
  const choices = shape.enum;
  return option.argParser((text: string) => {
    if (nullable && text === "none") return NONE;
    if (choices && !choices.includes(text)) throw new InvalidArgumentError(`Expected one of ${choices.join(", ")}.`);
    return parse(text);
  });
}

function parserOf({ type, examples }: Schema): (text: string) => unknown {
  switch (type) {
    case "string":
      return (text) => text;
    case "integer":
    case "number":
      return readNumber;
    case "array":
      return (text) => (text === "" ? [] : text.split(",").map((item) => item.trim()));
    case undefined:
      return (text) => text;
    default:
      return (text) => readJson(text, examples?.[0]);
  }
}

/** The values that are allowed, if they are few. A long first column leaves the help no room for descriptions. */
function placeholder(name: string, { type, enum: choices }: Schema): string {
  if (choices) return isLong(choices) ? name : choices.join("|");
  if (type === "integer" || type === "number") return "number";
  if (type === "array") return "a,b";
  return type === "object" ? "json" : "text";
}

function readNumber(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError("Expected a whole number.");
  return Number(text);
}

const MAX_PLACEHOLDER = 40;

const isLong = (choices: readonly string[]): boolean => choices.join("|").length > MAX_PLACEHOLDER;

/** What the description does not say: the allowed values that are too many for the option's name, and how an object looks as JSON. */
function hintsOf(name: string, { type, enum: choices, examples }: Schema): string[] {
  if (choices) return isLong(choices) ? [`One of ${choices.join(", ")}.`] : [];
  if (type !== "object") return [];
  if (examples?.[0] === undefined) throw new Error(`The field ${name} has no example.`);
  return [`For example '${JSON.stringify(examples[0])}'.`];
}

/**
 * @param example of a value, for the error
 * @throws {InvalidArgumentError}
 */
export function readJson(text: string, example?: unknown): unknown {
  try {
    return parseExactly(text);
  } catch (error) {
    const why = example === undefined ? `: ${(error as Error).message}` : `, for example '${JSON.stringify(example)}'`;
    throw new InvalidArgumentError(`Expected JSON${why}.`);
  }
}

function withoutNull(field: Schema): { shape: Schema; nullable: boolean } {
  const shapes = field.anyOf?.filter(({ type }) => type !== "null");
  return shapes?.length === 1 && shapes[0] ? { shape: shapes[0], nullable: true } : { shape: field, nullable: false };
}

/** The contract's description of the field, as text without marks. On the command line null is "none". */
const describe = (field: Schema, shape: Schema): string =>
  (field.description ?? shape.description ?? "").replaceAll("`", "").replace(/\b[Nn]ull\b/g, '"none"');

const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll("_", "-");

const attributeOf = (flag: string): string => flag.replace(/-./g, ([, letter = ""]) => letter.toUpperCase());
