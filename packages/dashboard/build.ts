import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/**
 * Builds the pages into `dist`, with a compressed copy of each file. It does nothing if `dist` was built from the same sources.
 * `--if-possible` leaves out the build where the tools for it are not installed, as in an installation without development tools.
 */

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const DIST = path.join(ROOT, "dist");
const STAMP = "built-from";
const SOURCES = ["index.html", "*.ts", "package.json", "tsconfig.json", "src/**/*.*", "../../package-lock.json"];
/** A compressed copy of a smaller file saves nothing. */
const MIN_COMPRESSED_BYTES = 512;

async function buildPages(): Promise<void> {
  const sources = await hashSources();
  if ((await readFile(path.join(DIST, STAMP), "utf8").catch(() => "")) === sources) return;
  // A run of the tests has another value, for which Vite would build the pages as in development.
  process.env.NODE_ENV = "production";
  const tools = await loadTools();
  if (!tools) return;
  // Two builds may run at once: each writes a folder of its own.
  const written = `${DIST}.${process.pid}`;
  try {
    await tools.build({ ...tools.config, configFile: false, build: { ...tools.config.build, outDir: written, emptyOutDir: true } });
    await Promise.all(globSync("**/*.{js,css,svg}", { cwd: written }).map((name) => compress(path.join(written, name))));
    await writeFile(path.join(written, STAMP), sources);
    await replaceDist(written);
  } finally {
    await rm(written, { recursive: true, force: true });
  }
}

async function hashSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of globSync(SOURCES, { cwd: ROOT }).sort()) {
    const content = await readFile(path.join(ROOT, name));
    hash.update(`${name} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

async function loadTools() {
  try {
    const { build } = await import("vite");
    const { default: config } = await import("./vite.config.ts");
    return { build, config };
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND" || !process.argv.includes("--if-possible")) throw error;
    process.stdout.write("The dashboard was not built, because its development tools are not installed.\n");
    return null;
  }
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  if (content.length < MIN_COMPRESSED_BYTES) return;
  const quality = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  await writeFile(`${file}.br`, await promisify(brotliCompress)(content, { params: quality }));
  await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
}

/** A node that starts meanwhile finds the old pages or the new ones. */
async function replaceDist(written: string): Promise<void> {
  const old = `${written}.old`;
  await mkdir(path.dirname(DIST), { recursive: true });
  if (existsSync(DIST)) await rename(DIST, old).catch(() => {});
  await rename(written, DIST).catch((error: Error) => {
    // Another build was first.
    if (!existsSync(DIST)) throw error;
  });
  await rm(old, { recursive: true, force: true });
}

await buildPages();
