import type { FastifyContextConfig, FastifyRequest } from "fastify";
import findMyWay, { type HTTPMethod } from "find-my-way";

/** As long as the parameter of a path may be. */
export const MAX_PARAM_LENGTH = 512;

/** Under which all paths are kept, whatever their methods. */
const ANY: HTTPMethod = "GET";

/** What refuses a method, by path. */
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
