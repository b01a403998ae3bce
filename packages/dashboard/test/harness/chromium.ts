import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the browser of the tests is. */
    chromium: string;
  }
}

const REPOSITORY = fileURLToPath(new URL("../../../../", import.meta.url));

/** Unpacks the browser of the package @sparticuz/chromium, once for each version and user. */
export default function setup(project: TestProject): void {
  project.provide("chromium", unpackChromium());
}

/** The directory with the browser, its libraries and its fonts. */
export function unpackChromium(): string {
  const directory = path.join(cacheDirectory(), `chromium-${versionOf("@sparticuz/chromium")}`);
  if (existsSync(directory)) return directory;
  const unpacked = `${directory}.${process.pid}`;
  mkdirSync(unpacked, { recursive: true });
  // The package unpacks into the system's directory of temporary files.
  const code = `const { default: chromium, inflate } = await import("@sparticuz/chromium");
    await chromium.executablePath();
    const { createRequire } = await import("node:module");
    const bin = createRequire(process.argv[1]).resolve("@sparticuz/chromium").replace(/build.*/, "bin/");
    await inflate(bin + "al2023.tar.br");`;
  const file = fileURLToPath(import.meta.url);
  execFileSync(process.execPath, ["--input-type=module", "--eval", code, file], {
    cwd: path.dirname(file),
    env: { ...process.env, TMPDIR: unpacked },
    stdio: ["ignore", "ignore", "inherit"],
  });
  writeFileSync(path.join(unpacked, "fonts.conf"), fontsOf(directory));
  try {
    renameSync(unpacked, directory);
  } catch {
    // Another run was first.
    rmSync(unpacked, { recursive: true, force: true });
  }
  return directory;
}

/** The package's fonts before the machine's, which may have none. */
const fontsOf = (directory: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${directory}/fonts/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${directory}/fonts-cache</cachedir>
  <alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
</fontconfig>
`;

function versionOf(name: string): string {
  const entry = createRequire(import.meta.url).resolve(name);
  const root = entry.slice(0, entry.lastIndexOf(`${path.sep}node_modules${path.sep}`));
  return (JSON.parse(readFileSync(path.join(root, "node_modules", name, "package.json"), "utf8")) as { version: string }).version;
}

/** In the repository, or among the user's temporary files where the repository is another user's. */
function cacheDirectory(): string {
  const modules = path.join(REPOSITORY, "node_modules");
  try {
    accessSync(modules, constants.W_OK);
    return path.join(modules, ".cache");
  } catch {
    return path.join(tmpdir(), `tidemill-${userInfo().uid}`);
  }
}
