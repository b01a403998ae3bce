import { readHost } from "#http";

/** Hosts in the form in which they are compared, each once. Validation has already refused what is not a host. */
export const normalizeHosts = (hosts: readonly string[]): readonly string[] => [...new Set(hosts.flatMap((host) => readHost(host) ?? []))];
