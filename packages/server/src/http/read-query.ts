import type { FastifyRequest } from "fastify";
import { invalid } from "#kernel";

/**
 * Joins the values of a repeated parameter with commas, which means the same. Source: contract §1, Lists.
 *
 * @throws VALIDATION_ERROR for a query that is not percent-encoded UTF-8
 */
export function readQuery(request: FastifyRequest): void {
  const query = request.query as Record<string, string | string[]>;
  for (const name in query) {
    const value = query[name];
    if (Array.isArray(value)) query[name] = value.join(",");
  }
  const start = request.url.indexOf("?");
  if (start >= 0 && !isDecodable(request.url.slice(start))) throw invalid("", "has a query that is not percent-encoded UTF-8");
}

function isDecodable(text: string): boolean {
  if (!text.includes("%")) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
