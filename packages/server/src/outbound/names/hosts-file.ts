import { isIP } from "node:net";
import type { Address } from "./resolution.ts";

/** The addresses of each name in the text of `/etc/hosts`, in the order of its lines. */
export function readHosts(text: string): ReadonlyMap<string, readonly Address[]> {
  const hosts = new Map<string, Address[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const family = isIP(address.split("%")[0] ?? "");
    if (family === 0) continue;
    for (const name of names) addTo(hosts, name.toLowerCase().replace(/\.$/, ""), { address, family });
  }
  return hosts;
}

function addTo(hosts: Map<string, Address[]>, name: string, address: Address): void {
  const known = hosts.get(name);
  if (!known) hosts.set(name, [address]);
  else if (!known.some((one) => one.address === address.address)) known.push(address);
}
