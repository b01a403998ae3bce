/** A list of names as a text: `all` when there is no limit. */
export const limitText = (names: readonly string[] | null, all: string): string =>
  names === null ? all : names.length === 0 ? "none" : names.join(", ");

/** Where a secret may be used, as a form has it. Names are kept while everything is allowed. */
export interface LimitField {
  readonly all: boolean;
  readonly names: string;
}

export const fieldOf = (names: readonly string[] | null): LimitField => ({ all: names === null, names: names?.join(", ") ?? "" });

/** The names of a field, between commas or spaces. Null: all are allowed. */
export const limitOf = ({ all, names }: LimitField): string[] | null =>
  all ? null : [...new Set(names.split(/[\s,]+/).filter((name) => name !== ""))];
