import { METHODS as KNOWN } from "node:http";
import type { HTTPMethods, RouteOptions } from "fastify";
import type { Access } from "./authenticate.ts";
import type { Api } from "./server.ts";

/** All that Node reads. CONNECT never comes to a route. */
const METHODS = KNOWN.filter((method) => method !== "CONNECT") as HTTPMethods[];

/**
 * Answers 405 with `Allow` for every method that a path has not got. Call it before routes are mounted; what it answers
 * mounts the refusals and is called after.
 */
export function refuseOtherMethods(api: Api): () => void {
  for (const method of METHODS) if (!api.supportedMethods.includes(method)) api.addHttpMethod(method);
  const paths = new Map<string, { methods: Set<HTTPMethods>; access: Access | undefined }>();
  api.addHook("onRoute", ({ url, method, config, prefix }: RouteOptions & { prefix: string }) => {
    // What a plugin mounts under a prefix is for it to refuse.
    if (prefix !== "") return;
    const path = paths.get(url) ?? { methods: new Set(), access: config?.access };
    for (const one of [method].flat()) path.methods.add(one as HTTPMethods);
    paths.set(url, path);
  });
  return () => {
    for (const [url, { methods, access }] of [...paths]) {
      const allow = [...methods].sort().join(", ");
      const others = METHODS.filter((method) => !methods.has(method));
      // A key of any role may learn which methods there are.
      const needs: Access | undefined = access === undefined || access === "operator" ? access : "read";
      const refused = { config: { allow, ...(needs && { access: needs }) }, schema: { hide: true } as object };
      if (others.length > 0) api.route({ url, method: others, ...refused, handler: () => {} });
    }
  };
}
