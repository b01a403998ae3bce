import { METHODS as KNOWN } from "node:http";
import type { HTTPMethods, RouteOptions } from "fastify";
import type { Api } from "./api.ts";
import type { Access } from "./authenticate.ts";

/** All methods that Node parses. CONNECT never reaches a route. */
const METHODS = KNOWN.filter((method) => method !== "CONNECT") as HTTPMethods[];

/**
 * Refuses methods that a path does not have with 405 and `Allow`. Call it before routes are mounted, and the function that it
 * returns afterwards.
 */
export function refuseOtherMethods(api: Api): () => void {
  for (const method of METHODS) if (!api.supportedMethods.includes(method)) api.addHttpMethod(method);
  const paths = new Map<string, { methods: Set<HTTPMethods>; access: Access | undefined }>();
  api.addHook("onRoute", ({ url, method, config, prefix }: RouteOptions & { prefix: string }) => {
    // A plugin refuses methods under its own prefix itself.
    if (prefix !== "") return;
    const path = paths.get(url) ?? { methods: new Set(), access: config?.access };
    for (const one of [method].flat()) path.methods.add(one as HTTPMethods);
    paths.set(url, path);
  });
  return () => {
    for (const [url, { methods, access }] of [...paths]) {
      const allow = [...methods].sort().join(", ");
      const others = METHODS.filter((method) => !methods.has(method));
      // Every role may learn which methods exist.
      const needs: Access | undefined = access === undefined || access === "operator" ? access : "read";
      const refused = { config: { allow, ...(needs && { access: needs }) }, schema: { hide: true } as object };
      if (others.length > 0) api.route({ url, method: others, ...refused, handler: () => {} });
    }
  };
}
