import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

interface Chunk {
  readonly file: string;
  readonly css?: string[];
  readonly imports?: string[];
}

/** How many bytes of scripts and styles a browser loads before the first page is shown, as they are sent (gzip), with the chunk of a page. */
export function firstLoadBytes(page: string): number {
  const manifest = JSON.parse(readFileSync(path.join(DIST, ".vite/manifest.json"), "utf8")) as Record<string, Chunk>;
  const files = new Set<string>();
  const add = (name: string) => {
    const chunk = manifest[name];
    if (!chunk) throw new Error(`The build has no ${name}.`);
    if (files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) add(imported);
  };
  add("index.html");
  add(page);
  return [...files].reduce((sum, file) => sum + sizeOf(file), 0);
}

function sizeOf(file: string): number {
  try {
    return readFileSync(path.join(DIST, `${file}.gz`)).length;
  } catch {
    return readFileSync(path.join(DIST, file)).length;
  }
}
