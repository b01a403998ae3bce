import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, nextToken, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "#kernel";

interface Container {
  readonly isObject: boolean;
  index: number;
  /** Where the name of the current member begins and ends. */
  nameStart: number;
  nameEnd: number;
}

/** Follows the tokens of JSON text, and tells where in the value the last token is. */
export class PayloadPath {
  readonly #json: string;
  readonly #root: string;
  readonly #open: Container[] = [];
  /** Whether the last token is the name of a member. */
  isName = false;

  constructor(json: string, root: string) {
    this.#json = json;
    this.#root = root;
  }

  pass(start: number, end: number): void {
    const code = this.#json.charCodeAt(start);
    const container = this.#open.at(-1);
    this.isName = false;
    if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      this.#open.push({ isObject: code === OPEN_OBJECT, index: 0, nameStart: 0, nameEnd: 0 });
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) this.#open.pop();
    else if (container && code === COMMA) container.index += 1;
    else if (container?.isObject && code === QUOTE && this.#json.charCodeAt(nextToken(this.#json, end)) === COLON) {
      this.isName = true;
      container.nameStart = start;
      container.nameEnd = end;
    }
  }

  /** The path of the last token's value, like "payload.items[3]". For a name, the path of its object. */
  path(): string {
    const containers = this.isName ? this.#open.slice(0, -1) : this.#open;
    const steps = containers.map(({ isObject, index, nameStart, nameEnd }) =>
      isObject ? `.${JSON.parse(this.#json.slice(nameStart, nameEnd))}` : `[${index}]`,
    );
    return this.#root + steps.join("");
  }
}
