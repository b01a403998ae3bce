import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { Type } from "typebox";
import { Value } from "typebox/value";

const Profile = Type.Object({ url: Type.String(), key: Type.String() });
const Profiles = Type.Object({ default: Type.Union([Type.String(), Type.Null()]), profiles: Type.Record(Type.String(), Profile) });

/** A service and a key of it. */
export type Profile = Readonly<Type.Static<typeof Profile>>;

/** The saved profiles, by name, and the one that commands use by default. */
export interface Profiles {
  readonly default: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const NONE: Profiles = { default: null, profiles: {} };

/** Where `tidemill login` saves profiles. */
export const profilesFile = (): string =>
  path.join(process.env.XDG_CONFIG_HOME || path.join(homedir(), ".config"), "tidemill", "profiles.json");

/** @throws when the file is damaged or cannot be read, or when other users of the machine may read it */
export function readProfiles(): Profiles {
  const file = profilesFile();
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) return NONE;
  if (!stats.isFile()) throw new Error(`${file} is not a file. Move it away, and run "tidemill login" again.`);
  if (process.platform !== "win32" && (stats.mode & 0o077) !== 0)
    throw new Error(`Other users may read the keys in ${file}. Change that with: chmod 600 '${file}'`);
  const read = parsed(readFileSync(file, "utf8"));
  if (Value.Check(Profiles, read)) return read;
  throw new Error(`${file} is damaged: it does not contain profiles. Repair it, or move it away and run "tidemill login" again.`);
}

/** Replaces the file. Only its owner may read it. */
export function writeProfiles(profiles: Profiles): void {
  const file = profilesFile();
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  try {
    writeFileSync(fresh, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
    chmodSync(fresh, 0o600);
    renameSync(fresh, file);
  } finally {
    rmSync(fresh, { force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
