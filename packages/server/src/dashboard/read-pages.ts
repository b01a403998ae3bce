import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { unavailable } from "#kernel";

/** A file that a page loads. Its name has a hash of its content, so it never changes. */
export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly gzip: Buffer | null;
  readonly br: Buffer | null;
}

export interface Pages {
  /** The one document of all pages, with placeholders for its nonce and for the way to its files. */
  readonly document: string;
  /** The files by their names in `assets`. */
  readonly files: ReadonlyMap<string, PageFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** Reads the pages as they were built. They are kept in memory: a file that is sent from disk holds a descriptor. */
export async function readPages(): Promise<Pages> {
  const directory = path.join(path.dirname(createRequire(import.meta.url).resolve("@tidemill/dashboard/package.json")), "dist");
  const document = await readFile(path.join(directory, "index.html"), "utf8").catch(() => null);
  if (document === null)
    throw unavailable('The dashboard is not built. Run "npm run build -w packages/dashboard" and start the node again.');
  const assets = path.join(directory, "assets");
  const contents = new Map<string, Buffer>();
  await Promise.all((await readdir(assets)).map(async (name) => contents.set(name, await readFile(path.join(assets, name)))));
  const files = new Map<string, PageFile>();
  for (const [name, plain] of contents) {
    const type = TYPES[path.extname(name)];
    if (type === undefined) continue;
    const etag = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
    files.set(name, { type, etag, plain, gzip: contents.get(`${name}.gz`) ?? null, br: contents.get(`${name}.br`) ?? null });
  }
  return { document, files };
}
