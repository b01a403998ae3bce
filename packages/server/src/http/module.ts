import type { DueSource, Service } from "#kernel";
import type { Api } from "./server.ts";

/** What a folder adds to a node. `create…` of its index composes it; `main.ts` lists them all. */
export interface Module {
  /** Mounts its endpoints on the public listener. */
  readonly routes?: (api: Api) => void;
  /** Mounts its endpoints on the internal listener. */
  readonly operatorRoutes?: (api: Api) => void;
  /** What runs while the node does, in the order in which it starts. */
  readonly services?: readonly Service[];
  /** What the node's one poll looks for. */
  readonly due?: readonly DueSource[];
}
