import type { Profile, Profiles } from "./file.ts";

/** Options of each command that uses a service. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly key?: string;
  readonly profile?: string;
}

interface Environment {
  readonly TIDEMILL_URL?: string;
  readonly TIDEMILL_KEY?: string;
  readonly TIDEMILL_PROFILE?: string;
}

const HOW = 'Run "tidemill login", or set TIDEMILL_URL and TIDEMILL_KEY, or pass --url and --key.';

/**
 * Decides which service a command uses, and with which key: options come before the environment, and that before a profile. The key of a
 * profile is only for the profile's URL, so that no other host gets it. A profile that is named is used whole.
 *
 * @throws when the URL or the key is missing
 */
export function chooseService(options: ConnectionOptions, environment: Environment, { default: usual, profiles }: Profiles): Profile {
  const named = options.profile ?? (environment.TIDEMILL_PROFILE || undefined);
  const name = named ?? usual ?? "";
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (named !== undefined && !profile) throw new Error(`There is no profile "${named}".${known(Object.keys(profiles))}`);
  const fromEnvironment = options.profile === undefined ? environment : {};
  const url = options.url ?? (fromEnvironment.TIDEMILL_URL || profile?.url);
  if (url === undefined) throw new Error(`No service is given. ${HOW}`);
  const ofProfile = profile && sameService(profile.url, url) ? profile.key : undefined;
  const key = options.key ?? (fromEnvironment.TIDEMILL_KEY || ofProfile);
  if (key === undefined) throw new Error(`No key is given for ${url}. ${HOW}`);
  return { url, key };
}

const known = (names: readonly string[]): string => (names.length === 0 ? ' Run "tidemill login".' : ` There are: ${names.join(", ")}.`);

const sameService = (one: string, other: string): boolean => withoutSlash(one) === withoutSlash(other);

const withoutSlash = (url: string): string => url.replace(/\/+$/, "");
