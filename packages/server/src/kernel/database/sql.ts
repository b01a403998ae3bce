import { createHash } from "node:crypto";
import type { LargeTexts } from "./large-texts.ts";

/** What a statement may have as a value. */
export type Value = string | number | bigint | boolean | null | undefined | Buffer | LargeTexts | readonly string[] | readonly Buffer[];

export interface Statement {
  /** The name under which it is prepared, once on each connection. */
  readonly name: string;
  readonly text: string;
  readonly values: Value[];
  /** How long the driver waits for it, if not as long as for others. Milliseconds. */
  readonly query_timeout?: number;
}

/** A part of a statement that several statements share: only text, no values. */
export class Fragment {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Creates a fragment: fragment`…`. It may contain other fragments. Create it when its module is loaded: statements are prepared by its text. */
export const fragment = (strings: TemplateStringsArray, ...parts: Fragment[]): Fragment =>
  new Fragment(strings.reduce((text, part, index) => text + (parts[index - 1] as Fragment).text + part));

interface Prepared {
  readonly name: string;
  readonly text: string;
  readonly fragments: readonly Fragment[];
}

/** The prepared statements of each template: one, unless it is called with different fragments. */
const PREPARED = new WeakMap<TemplateStringsArray, Prepared[]>();

/**
 * Creates a statement whose values are separate from its text: sql`select … where id = ${id}`. It is prepared once per connection,
 * under a name made from its text. The text consists only of constants: the template and its fragments.
 */
export function sql(strings: TemplateStringsArray, ...parts: (Value | Fragment)[]): Statement {
  let known = PREPARED.get(strings);
  if (!known) {
    known = [];
    PREPARED.set(strings, known);
  }
  const [first] = known;
  if (first?.fragments.length === 0) return { name: first.name, text: first.text, values: parts as Value[] };
  const fragments = parts.filter((part) => part instanceof Fragment);
  let prepared = known.find((one) => one.fragments.every(({ text }, index) => text === fragments[index]?.text));
  if (!prepared) {
    prepared = prepare(strings, parts, fragments);
    known.push(prepared);
  }
  const { name, text } = prepared;
  return { name, text, values: parts.filter((part): part is Value => !(part instanceof Fragment)) };
}

function prepare(strings: TemplateStringsArray, values: readonly unknown[], fragments: readonly Fragment[]): Prepared {
  let count = 0;
  const text = strings.reduce((sofar, part, index) => {
    const value = values[index - 1];
    if (value instanceof Fragment) return sofar + value.text + part;
    count += 1;
    return `${sofar}$${count}${part}`;
  });
  return { name: createHash("sha1").update(text).digest("base64url"), text, fragments };
}

/** Runs statements: a pool, or the connection of a transaction. */
export interface Db {
  query(statement: Statement): Promise<{ rows: unknown[] }>;
}

/** The rows of a statement. The caller states their type; it is not checked. */
export async function rows<Row>(db: Db, statement: Statement): Promise<Row[]> {
  return (await db.query(statement)).rows as Row[];
}

/** The one row of a statement, or null. */
export async function row<Row>(db: Db, statement: Statement): Promise<Row | null> {
  return ((await db.query(statement)).rows[0] as Row | undefined) ?? null;
}
