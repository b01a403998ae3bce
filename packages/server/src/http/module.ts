import type { DueSource, Service } from "#kernel";
import type { Api } from "./api.ts";

/** What a folder adds to a node. A folder's `create…` function makes its module. `main.ts` lists all modules. */
export interface Module {
  /** Mounts its endpoints on the public listener. */
  readonly routes?: (api: Api) => void;
  /** Mounts its endpoints on the internal listener. */
  readonly operatorRoutes?: (api: Api) => void;
  /** Services that run as long as the node, in the order in which they start. */
  readonly services?: readonly Service[];
  /** What the node's one poll checks (`DuePoll`). */
  readonly due?: readonly DueSource[];
}
