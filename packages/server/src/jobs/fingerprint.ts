import { hash } from "node:crypto";
import type { NewJob } from "./new-job.ts";

/**
 * SHA-256 of a job as it was sent, in hexadecimal: all that a caller says of it but its idempotency key. White space between the
 * payload's tokens and the order of its objects' members do not count; anything else does, a number's digits among it.
 */
export function fingerprintOf(job: Omit<NewJob, "idempotency">): string {
  const { delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs } = job;
  const options = JSON.stringify([delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs]);
  return hash("sha256", options + canonicalJson(job.payload));
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Valid JSON with the members of each object in the order of their names, and no white space. */
export function canonicalJson(text: string): string {
  let at = 0;

  /** The next code that is neither white space nor between two values or members. */
  function next(): number {
    let code = text.charCodeAt(at);
    while (code <= 0x20 || code === COMMA || code === COLON) code = text.charCodeAt(++at);
    return code;
  }
  function string(): string {
    const start = at++;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(++at)) if (code === BACKSLASH) at++;
    return text.slice(start, ++at);
  }
  function scalar(): string {
    const start = at;
    let code = text.charCodeAt(at);
    while (code > 0x20 && code !== COMMA && code !== CLOSE && code !== CLOSE_LIST) code = text.charCodeAt(++at);
    return text.slice(start, at);
  }
  function list(): string {
    let items = "";
    for (at++; next() !== CLOSE_LIST; ) items += `${items && ","}${value()}`;
    at++;
    return `[${items}]`;
  }
  function object(): string {
    const members: { name: string; text: string }[] = [];
    for (at++; next() === QUOTE; ) {
      const name = string();
      members.push({ name, text: `${name}:${value()}` });
    }
    at++;
    // Stable: of a member given twice, the last one counts.
    if (members.length > 1) members.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
    return `{${members.map((member) => member.text).join()}}`;
  }
  function value(): string {
    const first = next();
    if (first === QUOTE) return string();
    if (first === OPEN_LIST) return list();
    return first === OPEN ? object() : scalar();
  }
  return value();
}
