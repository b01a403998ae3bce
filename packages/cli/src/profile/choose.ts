import { NotFoundError, NotSignedInError } from "../exit-code.ts";
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
 * Decides which service a command uses, and with which key: options override the environment, which overrides a profile. The key of a
 * profile is only used for the profile's URL, so that no other host gets it. If an option names a profile, the environment is ignored.
 *
 * @param readProfiles called only when the URL or the key is to come from a profile
 * @throws when the URL or the key is missing, and what `readProfiles` throws
 */
export function chooseService(options: ConnectionOptions, environment: Environment, readProfiles: () => Profiles): Profile {
  const fromEnvironment = options.profile === undefined ? environment : {};
  const given = {
    url: options.url ?? (fromEnvironment.TIDEMILL_URL || undefined),
    key: options.key ?? (fromEnvironment.TIDEMILL_KEY || undefined),
  };
  if (given.url !== undefined && given.key !== undefined) return { url: given.url, key: given.key };
  const profile = findProfile(options.profile ?? (environment.TIDEMILL_PROFILE || undefined), readProfiles());
  const url = given.url ?? profile?.url;
  if (url === undefined) throw new NotSignedInError(`No service is given. ${HOW}`);
  const key = given.key ?? (profile && isSameService(profile.url, url) ? profile.key : undefined);
  if (key === undefined) throw new NotSignedInError(`No key is given for ${url}. ${HOW}`);
  return { url, key };
}

function findProfile(named: string | undefined, { default: usual, profiles }: Profiles): Profile | undefined {
  const name = named ?? usual ?? "";
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (named !== undefined && !profile) throw noProfile(named, Object.keys(profiles));
  return profile;
}

/** The error for the name of a profile that does not exist. */
export const noProfile = (named: string, names: readonly string[]): NotFoundError =>
  new NotFoundError(`There is no profile "${named}". ${names.length === 0 ? 'Run "tidemill login".' : `There are: ${names.join(", ")}.`}`);

const isSameService = (one: string, other: string): boolean => normalized(one) === normalized(other);

/** Host names are the same in any case, with or without the usual port. */
const normalized = (url: string): string => (URL.parse(url)?.href ?? url).replace(/\/+$/, "");
