import { readHost } from "#http";

/** Hosts as they are compared, each once. What is no host has been refused before. */
export function readHosts<Absent extends null | undefined>(hosts: readonly string[] | Absent): readonly string[] | Absent {
  return Array.isArray(hosts) ? [...new Set((hosts as readonly string[]).flatMap((host) => readHost(host) ?? []))] : (hosts as Absent);
}
