import { type BodyReader, ChunkedBody, OpenBody, SizedBody, Utf8Text } from "./body-readers.ts";
import type { Bytes } from "./node.ts";

/** The part of a response before its body. */
export interface ResponseHead {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
}

export interface WholeResponse extends ResponseHead {
  readonly body: string;
}

const MAX_HEAD = 65_536;
const END_OF_HEAD = "\r\n\r\n";
const BEGINNING = "HTTP/1.";
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [^\r\n]*)?$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t -~\x80-\xff]*)$/;
/** A server may close an idle connection a little earlier than it says. Milliseconds. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

/** Reads one response (RFC 9112), as its bytes come. Ambiguous responses are errors, so that a response is never matched to another request. */
export class ResponseParser {
  /** What has come of the head, a character for each byte. */
  #head = "";
  #response: ResponseHead | undefined;
  #body: BodyReader | undefined;
  readonly #text = new Utf8Text();
  #keepsOpen = false;

  /**
   * Reads what comes next.
   *
   * @returns whether the response is whole
   * @throws {Error} if this is no response
   */
  read(bytes: Bytes): boolean {
    let rest = bytes;
    while (!this.#body) {
      const before = this.#head.length;
      this.#head += rest.toString("latin1");
      // The end may have begun in the piece before.
      const end = this.#head.indexOf(END_OF_HEAD, Math.max(0, before - END_OF_HEAD.length + 1));
      if ((end < 0 ? this.#head.length : end) > MAX_HEAD) throw new Error("The response has too many headers.");
      if (end < 0) {
        // A server that speaks another protocol may never send the end of a head.
        if (!this.#head.startsWith(BEGINNING.slice(0, this.#head.length)) || /(?:^|[^\r])\n/.test(this.#head)) throw notHttp();
        return false;
      }
      rest = rest.subarray(end + END_OF_HEAD.length - before);
      this.#readHead(this.#head.slice(0, end));
      this.#head = "";
    }
    const read = this.#body.read(rest);
    if (read === null) return false;
    // Bytes that nobody has asked for.
    if (read < rest.length) this.#keepsOpen = false;
    return true;
  }

  /** @returns whether the response is whole when its connection ends here */
  end(): boolean {
    return this.#body?.endsWithConnection === true;
  }

  /** Whether the server keeps the connection open after this response. */
  get keepsOpen(): boolean {
    return this.#keepsOpen;
  }

  /** How long the connection may be idle before the server closes it. Milliseconds. */
  get idleMs(): number {
    const [, seconds] = /(?:^|[\s,])timeout=(\d{1,9})/i.exec(this.#response?.headers.get("keep-alive") ?? "") ?? [];
    return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1_000 - KEEP_ALIVE_MARGIN_MS;
  }

  /** The response, when it is whole. */
  get response(): WholeResponse {
    if (!this.#response || !this.#body) throw new Error("The response is not whole.");
    return { ...this.#response, body: this.#text.end() };
  }

  #readHead(text: string): void {
    const [first = "", ...lines] = text.split("\r\n");
    const [, minor, digits] = STATUS_LINE.exec(first) ?? [];
    const status = Number(digits);
    if (minor === undefined || status === 101) throw notHttp();
    // Another head follows.
    if (status < 200) return;
    const headers = readHeaders(lines);
    this.#response = { status, ok: status < 300, headers: { get: (name) => headers.get(name) ?? null } };
    this.#body = bodyReader(status, headers, this.#text);
    this.#keepsOpen =
      minor === "1" && !this.#body.endsWithConnection && !/(?:^|[\s,])close(?:$|[\s,])/i.test(headers.get("connection") ?? "");
  }
}

const notHttp = (): Error => new Error("This is not a response of HTTP/1.1.");

/** Headers that count each time. Of others, the first counts, as with `node:http`. */
const FRAMING = new Set(["connection", "content-length", "transfer-encoding"]);

function readHeaders(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, text] = HEADER.exec(line) ?? [];
    if (name === undefined || text === undefined) throw new Error("The response has a malformed header.");
    const [key, value] = [name.toLowerCase(), text.trim()];
    const earlier = headers.get(key);
    if (earlier === undefined) headers.set(key, value);
    else if (FRAMING.has(key)) headers.set(key, `${earlier}, ${value}`);
  }
  return headers;
}

function bodyReader(status: number, headers: ReadonlyMap<string, string>, text: Utf8Text): BodyReader {
  if (status === 204 || status === 304) return new SizedBody(text, 0);
  const [coding, length] = [headers.get("transfer-encoding"), headers.get("content-length")];
  if (coding !== undefined) {
    if (coding.toLowerCase() !== "chunked" || length !== undefined) throw new Error("The length of the response is ambiguous.");
    return new ChunkedBody(text);
  }
  if (length === undefined) return new OpenBody(text);
  if (!/^\d{1,15}$/.test(length)) throw new Error("The length of the response is ambiguous.");
  return new SizedBody(text, Number(length));
}
