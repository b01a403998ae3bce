import { LIMITS, TemplateError, type TemplatePart } from "@tidemill/contract";

/** Encodes a text for the place where it is put, so that it cannot end the string, or the URL component, around it. */
export type Encode = (text: string) => string;

/** Replaces templates with the values of one attempt's secrets. Values are not searched for templates. */
export class TemplateFiller {
  readonly #values: ReadonlyMap<string, string>;
  #bytesLeft: number = LIMITS.templateGrowthBytes;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  /**
   * @param encodeValue encodes the values
   * @param encodeText encodes the text between them
   * @throws {TemplateError} when the attempt's values, encoded, exceed `LIMITS.templateGrowthBytes`
   */
  fill(parts: readonly TemplatePart[], encodeValue: Encode, encodeText: Encode = unencoded): string {
    return parts
      .map((part) => (typeof part === "string" ? encodeText(part) : this.#count(encodeValue(this.#valueOf(part.secret)))))
      .join("");
  }

  #valueOf(name: string): string {
    const value = this.#values.get(name);
    if (value === undefined) throw new Error(`The secret ${name} was not resolved.`);
    return value;
  }

  #count(value: string): string {
    this.#bytesLeft -= Buffer.byteLength(value);
    if (this.#bytesLeft < 0) throw new TemplateError(`has secrets that add more than ${LIMITS.templateGrowthBytes} bytes`);
    return value;
  }
}

export const unencoded: Encode = (text) => text;

/** The names of the secrets in texts, each once. */
export function secretNamesIn(texts: readonly (readonly TemplatePart[])[]): string[] {
  const names = new Set<string>();
  for (const parts of texts) for (const part of parts) if (typeof part !== "string") names.add(part.secret);
  return [...names];
}
