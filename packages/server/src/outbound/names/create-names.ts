import type { Clock, Config, SharedResource } from "#kernel";
import type { AddressGuard } from "../address-guard.ts";
import { Lookup } from "./lookup.ts";
import { Names } from "./names.ts";
import { SystemFiles } from "./system-files.ts";
import { createSystemLookup } from "./system-lookup.ts";

export interface CreateNamesOptions {
  readonly config: Pick<Config, "dnsServers" | "env" | "allowAddresses">;
  readonly guard: Pick<AddressGuard, "check">;
  /** Look-ups under way. */
  readonly share: SharedResource;
  readonly clock: Clock;
}

/** Creates a node's resolver of names. */
export function createNames({ config, guard, share, clock }: CreateNamesOptions): Names {
  // The system's resolver adds names of the private network only. Where callbacks may not go there, its threads would serve nobody.
  const reachesPrivate = config.env === "development" || config.allowAddresses.length > 0;
  const lookup = new Lookup({ servers: config.dnsServers }, reachesPrivate ? createSystemLookup() : null);
  return new Names({ files: new SystemFiles(clock), lookup, guard, share, clock });
}
