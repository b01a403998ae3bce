import { maxTypos, typosBetween } from "#kernel";

/**
 * Suggests a path for one that matches no route. The suggestion has the same number of segments, and corrects typos in the names of
 * the route. Segments at the place of a parameter stay as they are.
 *
 * @param routes paths as they are mounted, for example "/v1/queues/:name"
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
