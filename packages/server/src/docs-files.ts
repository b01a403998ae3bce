import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

const TYPES = {
  "favicon-16x16.png": "image/png",
  "favicon-32x32.png": "image/png",
  "index.css": "text/css; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui-standalone-preset.js": "text/javascript; charset=utf-8",
} as const;

export interface DocsFile {
  readonly type: string;
  readonly content: Buffer;
}

/** Reads the files that the page at /docs needs, by their names. They are kept: a file that is sent from disk holds a descriptor. */
export async function readDocsFiles(): Promise<ReadonlyMap<string, DocsFile>> {
  const directory = path.join(path.dirname(createRequire(import.meta.url).resolve("@fastify/swagger-ui")), "static");
  const read = async ([name, type]: [string, string]) => [name, { type, content: await readFile(path.join(directory, name)) }] as const;
  return new Map(await Promise.all(Object.entries(TYPES).map(read)));
}
