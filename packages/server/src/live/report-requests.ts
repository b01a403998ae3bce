import type { Api } from "#http";
import type { ReportChange } from "#kernel";
import { kindsOfRoute } from "./kinds-of-route.ts";

/** Reports what requests change, for all routes that are mounted from now on. */
export function reportRequests(api: Api, report: ReportChange): void {
  api.addHook("onRoute", (route) => {
    // Refuses methods: it changes nothing.
    if (route.config?.allow !== undefined) return;
    const kinds = [...new Set([route.method].flat().flatMap((method) => kindsOfRoute(method, route.url)))];
    if (kinds.length === 0) return;
    route.onResponse = [
      ...[route.onResponse ?? []].flat(),
      (request, reply, done) => {
        if (request.principal && reply.statusCode < 300) report(request.principal.workspaceId, kinds);
        done();
      },
    ];
  });
}
