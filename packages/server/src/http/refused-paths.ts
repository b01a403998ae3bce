import type { FastifyContextConfig, FastifyRequest } from "fastify";
import findMyWay, { type HTTPMethod } from "find-my-way";

/** The maximum length of a path parameter. */
export const MAX_PARAM_LENGTH = 512;

/** The method under which all paths are kept, whatever their methods are. */
const ANY: HTTPMethod = "GET";

/** Paths, each with the route that refuses a method. */
export class RefusedPaths {
  readonly #router = findMyWay({ maxParamLength: MAX_PARAM_LENGTH });

  add(url: string, config: FastifyContextConfig): void {
    this.#router.on(ANY, url, () => {}, config);
  }

  /** Null if no route has the path. */
  find({ url }: FastifyRequest): FastifyContextConfig | null {
    return (this.#router.find(ANY, url)?.store as FastifyContextConfig | undefined) ?? null;
  }
}
