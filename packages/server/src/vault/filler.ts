import { LIMITS, TemplateError, type TemplatePart } from "@tidemill/contract";

/** How a value is written where it is put: so that it cannot end the string, or the part of an address, that it stands in. */
export type Encode = (text: string) => string;

/** Puts the values of one attempt's secrets into its texts. What it puts in is not looked at for templates again. */
export class Filler {
  readonly #values: ReadonlyMap<string, string>;
  #room: number = LIMITS.templateGrowthBytes;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  /**
   * @param encodeValue how values are written
   * @param encodeText how the text between them is
   * @throws {TemplateError} when the attempt's secrets come to more than `LIMITS.templateGrowthBytes`, encoded
   */
  fill(parts: readonly TemplatePart[], encodeValue: Encode, encodeText: Encode = asItIs): string {
    return parts
      .map((part) => (typeof part === "string" ? encodeText(part) : this.#take(encodeValue(this.#valueOf(part.secret)))))
      .join("");
  }

  #valueOf(name: string): string {
    const value = this.#values.get(name);
    if (value === undefined) throw new Error(`The secret ${name} was not resolved.`);
    return value;
  }

  #take(value: string): string {
    this.#room -= Buffer.byteLength(value);
    if (this.#room < 0) throw new TemplateError(`has secrets that add more than ${LIMITS.templateGrowthBytes} bytes`);
    return value;
  }
}

export const asItIs: Encode = (text) => text;

/** The secrets that texts name, each once. */
export const secretsIn = (texts: readonly (readonly TemplatePart[])[]): string[] => [
  ...new Set(texts.flatMap((parts) => parts.flatMap((part) => (typeof part === "string" ? [] : [part.secret])))),
];
