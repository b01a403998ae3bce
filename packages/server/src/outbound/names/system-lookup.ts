import { lookup } from "node:dns";
import { SharedResource, systemCode, type WorkspaceId } from "#kernel";
import type { Resolve } from "../address-guard.ts";
import { failed, type LookupError, type Resolution } from "./resolution.ts";

/** `dns.lookup` occupies one of libuv's four threads until the system's resolver ends. Files and encryption need the others. */
const MAX_THREADS = 2;
/**
 * The maximum wait for a turn. It is shorter than a look-up may take, so that a look-up without a turn is refused and does not count as a
 * failure of the name. Milliseconds.
 */
const MAX_WAIT_MS = 2_000;

/** Looks names up like other programs of the machine, with all services of nsswitch.conf, for example mDNS. */
export type SystemLookup = (workspaceId: WorkspaceId, name: string) => Promise<Resolution>;

/** Names that name servers usually do not know, but the system's resolver may. */
export const isSystemName = (name: string): boolean => /^[^.]+\.?$|\.local\.?$/.test(name);

/** Creates a system look-up that uses few threads. Workspaces take turns. */
export function createSystemLookup(lookUp: Resolve = lookup): SystemLookup {
  const threads = new SharedResource({ name: "lookups", capacity: MAX_THREADS, maxWaitMs: MAX_WAIT_MS });
  return (workspaceId, name) =>
    threads.use(
      workspaceId,
      () =>
        new Promise((resolve) => {
          lookUp(name, { all: true, order: "ipv4first" }, (error, addresses) =>
            resolve(error ? failed(name, codeOf(error)) : { kind: "found", addresses }),
          );
        }),
    );
}

/** Errors that mean that the node itself lacks something. Tenants choose names, so no other error may count as a fault of the node. */
const NODE_LACKS = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAI_MEMORY"]);

function codeOf(error: Error): LookupError["code"] {
  const code = systemCode(error);
  if (NODE_LACKS.has(code)) return "LOOKUP_NOT_RUN";
  return code === "EAI_AGAIN" ? code : "ENOTFOUND";
}
