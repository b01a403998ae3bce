import { readHost } from "#http";

/** Hosts as they are compared, each once. What is no host has been refused before. */
export const readHosts = (hosts: readonly string[]): readonly string[] => [...new Set(hosts.flatMap((host) => readHost(host) ?? []))];
