import { isIP } from "node:net";
import { literalAddress } from "../address-guard.ts";
import { LOCALHOST } from "../refused.ts";
import type { Address, Resolution } from "./resolution.ts";

/** Names that stand for the machine itself. Source: RFC 6761, section 6.3. */
const LOCALHOST_NAME = /(^|\.)localhost\.*$/i;

const asFound = (addresses: readonly string[]): Resolution => ({
  kind: "found",
  addresses: addresses.map((address): Address => ({ address, family: isIP(address) })),
});

const THIS_MACHINE = asFound(LOCALHOST);

export const literalResolution = (hostname: string): Resolution | undefined => {
  const literal = literalAddress(hostname);
  return literal === null ? undefined : asFound([literal]);
};

export const localhostResolution = (hostname: string): Resolution | undefined => (LOCALHOST_NAME.test(hostname) ? THIS_MACHINE : undefined);
