import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ENCODERS } from "./encoders.ts";
import type { Answer, Received } from "./handler.ts";

/** A job's payload, which says how the handler {@link leaky} leaks the secret. */
export interface Errand {
  readonly does: keyof typeof LEAKS;
  readonly encoding: string;
  readonly secret: string;
}

/** The length at which error texts are cut off. */
const CUT = 200;

const LEAKS = {
  result: (text: string) => json(200, { [text]: 1, deep: [{ text: `token=${text};` }] }),
  numbers: (text: string) => json(200, `{"exact":${text},"rounded":${Number(text)},"all":[${Number(text).toExponential()},[-${text}.5]]}`),
  page: (text: string) => ({ status: 200, headers: { "content-type": "text/html" }, body: `<p>${text}</p>` }),
  error: (text: string) => ({ status: 400, body: `The token ${text} is not valid.` }),
  "JSON error": (text: string) => json(422, { message: `The token "${text}" is not valid.` }),
  "cut error": (text: string) => ({ status: 500, body: `${".".repeat(CUT - 20)}${text}` }),
  "cut in the middle of a redaction": (text: string) => ({ status: 500, body: `${text} `.repeat(20) }),
  echo: (_text: string, { path, headers, raw }: Received) => json(400, { path, headers, raw }),
  headers: (text: string) => ({ status: 503, headers: { "retry-after": text, "x-token": text, "content-type": text }, body: text }),
  redirect: (text: string) => ({ status: 302, headers: { location: `http://127.0.0.1/?token=${encodeURIComponent(text)}` }, body: text }),
  hang: () => "hang" as const,
};

const json = (status: number, body: unknown): Answer => ({
  status,
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

/** Responds with the received secret, in the requested encoding and place. */
export function leaky(received: Received): Answer {
  const { does, encoding, secret } = received.body.payload as Errand;
  return LEAKS[does](ENCODERS[encoding]?.(secret) ?? "", received);
}

/** The contents of all files under a directory. */
export function bytesUnder(directory: string): Buffer {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(path.join(parentPath, name))));
}

/** A text, followed by the bytes of every `bytea` value that it writes in hexadecimal. */
export function withBytea(text: string): Buffer {
  const bytea = text.match(/\\x[0-9a-f]+/g) ?? [];
  return Buffer.concat([Buffer.from(text), ...bytea.map((hex) => Buffer.from(hex.slice(2), "hex"))]);
}
