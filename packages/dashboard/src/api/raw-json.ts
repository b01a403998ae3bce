/** A JSON value that is kept as the text that was sent: 12345678901234567890 keeps its digits, and a huge payload creates no objects. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Members whose values belong to tenants and handlers. They are never parsed. */
const RAW_MEMBERS = ["payload", "result", "input", "output", "progress"] as const;
type RawMember = (typeof RAW_MEMBERS)[number];
export const RAW: ReadonlySet<string> = new Set(RAW_MEMBERS);

/** A record of the contract as the dashboard reads it. */
export type Read<T> = T extends readonly (infer One)[]
  ? Read<One>[]
  : T extends object
    ? { [Key in keyof T]: Key extends RawMember ? RawJson | Extract<T[Key], undefined> | null : Read<T[Key]> }
    : T;
