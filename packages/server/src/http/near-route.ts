import { maxTypos, typosBetween } from "#kernel";

/**
 * The path that was probably meant by one that no route has: of as many segments, with the names of a route that are near and
 * whatever stands where the route has a parameter.
 *
 * @param routes paths as they are mounted, "/v1/queues/:name" say
 */
export function nearRoute(path: string, routes: Iterable<string>): string | null {
  const segments = path.split("/");
  let near: { path: string; typos: number } | null = null;
  for (const route of routes) {
    const pattern = route.split("/");
    if (pattern.length !== segments.length) continue;
    const typos = pattern.reduce((sum, name, at) => sum + typosIn(segments[at] ?? "", name), 0);
    if (!Number.isFinite(typos) || (near && near.typos <= typos)) continue;
    const meant = pattern.map((name, at) => (name.startsWith(":") ? segments[at] : name)).join("/");
    if (meant !== path) near = { path: meant, typos };
  }
  return near?.path ?? null;
}

function typosIn(segment: string, name: string): number {
  if (name.startsWith(":")) return segment === "" ? Number.POSITIVE_INFINITY : 0;
  if (segment === name) return 0;
  const typos = typosBetween(segment, name);
  return typos <= maxTypos(name) ? typos : Number.POSITIVE_INFINITY;
}
