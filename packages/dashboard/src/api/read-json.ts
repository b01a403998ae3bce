import { RAW, RawJson } from "./raw-json.ts";

/**
 * Reads JSON, and keeps the values of raw members as text (`RawJson`; null stays null).
 *
 * @throws SyntaxError
 */
export function readJson(text: string, raw: ReadonlySet<string> = RAW): unknown {
  const reader = new Reader(text, raw);
  const value = reader.value();
  reader.end();
  return value;
}

const PRIMITIVE = /(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
/** The code of the space. Those of the other white space of JSON are lower. */
const SPACE = 0x20;

class Reader {
  readonly #text: string;
  readonly #raw: ReadonlySet<string>;
  #at = 0;

  constructor(text: string, raw: ReadonlySet<string>) {
    this.#text = text;
    this.#raw = raw;
  }

  value(): unknown {
    this.#space();
    const first = this.#text[this.#at];
    if (first === "{") return this.#object();
    if (first === "[") return this.#array();
    if (first === '"') return this.#string();
    const text = this.#primitive();
    return text === "null" ? null : JSON.parse(text);
  }

  end(): void {
    this.#space();
    if (this.#at < this.#text.length) this.#fail();
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#each("}", () => {
      this.#space();
      const name = this.#string();
      this.#space();
      this.#take(":");
      const value = this.#raw.has(name) ? this.#rawValue() : this.value();
      // `__proto__` is a name like any other.
      if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
      else object[name] = value;
    });
    return object;
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#each("]", () => items.push(this.value()));
    return items;
  }

  #each(close: string, read: () => void): void {
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === close) {
      this.#at++;
      return;
    }
    for (;;) {
      read();
      this.#space();
      if (this.#text[this.#at] === close) break;
      this.#take(",");
    }
    this.#at++;
  }

  /** Finds the end of a value without making it. */
  #rawValue(): RawJson | null {
    this.#space();
    const from = this.#at;
    let depth = 0;
    do {
      this.#space();
      const char = this.#text[this.#at];
      if (char === '"') this.#skipString();
      else if (char === "{" || char === "[") {
        depth++;
        this.#at++;
      } else if (char === "}" || char === "]") {
        depth--;
        this.#at++;
      } else if (char === "," || char === ":") this.#at++;
      else this.#primitive();
    } while (depth > 0);
    const text = this.#text.slice(from, this.#at);
    return text === "null" ? null : new RawJson(text);
  }

  #string(): string {
    const from = this.#at;
    this.#skipString();
    const inner = this.#text.slice(from + 1, this.#at - 1);
    return inner.includes("\\") ? (JSON.parse(this.#text.slice(from, this.#at)) as string) : inner;
  }

  #skipString(): void {
    this.#take('"');
    for (;;) {
      const close = this.#text.indexOf('"', this.#at);
      if (close < 0) this.#fail();
      let slashes = 0;
      while (this.#text[close - 1 - slashes] === "\\") slashes++;
      this.#at = close + 1;
      if (slashes % 2 === 0) return;
    }
  }

  #primitive(): string {
    PRIMITIVE.lastIndex = this.#at;
    const found = PRIMITIVE.exec(this.#text)?.[0];
    if (found === undefined) this.#fail();
    this.#at += found.length;
    return found;
  }

  // Most characters have no white space between them, and this runs ten times for each member.
  #space(): void {
    for (; this.#text.charCodeAt(this.#at) <= SPACE; this.#at++) {
      if (!" \t\r\n".includes(this.#text.charAt(this.#at))) return;
    }
  }

  #take(char: string): void {
    if (this.#text[this.#at] !== char) this.#fail();
    this.#at++;
  }

  #fail(): never {
    throw new SyntaxError(`The response is not JSON at character ${this.#at}.`);
  }
}
