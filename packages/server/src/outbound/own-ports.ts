import type { LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { addressSet } from "./address-set.ts";
import { LOOPBACK } from "./refused.ts";

/** An outgoing call goes to a port on which the node itself listens. */
export class OwnPortError extends Error {
  override readonly name = "OwnPortError";
  readonly code = "BLOCKED_ADDRESS";

  constructor(hostname: string, port: number) {
    super(`Port ${port} of ${hostname} is the node itself, which outgoing calls may not reach.`);
  }
}

/** Connecting to an unspecified address reaches this machine. */
const UNSPECIFIED = ["0.0.0.0", "::"];

/** Whether an address is one of this machine's own, as far as the machine knows them. */
export function isOwnAddress(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((all = []) => all.map((one) => one.address));
  return addressSet([...LOOPBACK, ...UNSPECIFIED, ...own])(address);
}

/** A look-up for calls to one of the node's own ports: it fails for names of this machine. */
export const lookupElsewhere =
  (lookup: LookupFunction, port: number): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, options, (error, address, family) => {
      const addresses = Array.isArray(address) ? address.map((one) => one.address) : [address];
      if (!error && addresses.some(isOwnAddress)) callback(new OwnPortError(hostname, port), []);
      else callback(error, address, family);
    });
