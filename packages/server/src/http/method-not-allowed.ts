import type { HTTPMethods, RouteOptions } from "fastify";
import type { Api } from "./api.ts";
import type { Access } from "./authenticate.ts";

/**
 * Refuses methods that a path does not have with 405 and `Allow`. Call it before routes are mounted, and the function that it
 * returns afterwards.
 *
 * Routes refuse only the methods that some other path has. `refusedPaths` refuses all others: Fastify keeps a tree of routes for each
 * method. To fill the trees of the 28 methods that no path has took a third of the processor time of a node's start.
 */
export function refuseOtherMethods(api: Api): () => void {
  const paths = new Map<string, { methods: Set<HTTPMethods>; access: Access | undefined }>();
  api.addHook("onRoute", ({ url, method, config, prefix }: RouteOptions & { prefix: string }) => {
    // A plugin refuses methods under its own prefix itself.
    if (prefix !== "") return;
    const path = paths.get(url) ?? { methods: new Set(), access: config?.access };
    for (const one of [method].flat()) path.methods.add(one as HTTPMethods);
    paths.set(url, path);
  });
  return () => {
    const used = [...new Set([...paths.values()].flatMap(({ methods }) => [...methods]))];
    for (const [url, { methods, access }] of [...paths]) {
      const allow = [...methods].sort().join(", ");
      const others = used.filter((method) => !methods.has(method));
      // Every role may learn which methods exist.
      const needs: Access | undefined = access === undefined || access === "operator" ? access : "read";
      const config = { allow, ...(needs && { access: needs }) };
      api.refusedPaths.add(url, config);
      if (others.length > 0) api.route({ url, method: others, config, schema: { hide: true } as object, handler: () => {} });
    }
  };
}
