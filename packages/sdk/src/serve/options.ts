import { checkNames } from "../check-names.ts";
import { readVariable } from "../environment.ts";
import type { TidemillOptions } from "../options.ts";
import type { Logger } from "../worker/logger.ts";
import { readWorkerOptions, readWorkflows, type WorkerSettings } from "../worker/options.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";

/** Settings of a handler that executes workflows. Variables of the environment are read at the first request. */
export interface ServeOptions extends Pick<TidemillOptions, "url" | "key" | "fetch"> {
  /** The workflows whose runs are executed. */
  readonly workflows: readonly AnyWorkflow[];
  /**
   * The signing secret of the workflows (`cbs_…`), or several while it is rotated: one match is enough, and `register` sets the first one.
   * Default: `TIDEMILL_ENDPOINT_SECRET`, where commas separate several.
   */
  readonly secret?: string | readonly string[];
  readonly logger?: Logger;
}

export interface ServeSettings {
  readonly worker: WorkerSettings;
  readonly secrets: readonly [string, ...string[]];
}

const OPTIONS = {
  url: true,
  key: true,
  fetch: true,
  workflows: true,
  secret: true,
  logger: true,
} satisfies Record<keyof ServeOptions, true>;

const SECRET = /^cbs_[A-Za-z0-9_-]{43}$/;

/** @throws {TypeError} for an option that does not exist, and for `workflows` that are none */
export function checkServeOptions(options: ServeOptions): void {
  checkNames("serve", options, OPTIONS);
  if (readWorkflows(options.workflows).size === 0) throw new TypeError("workflows must contain at least one workflow.");
}

/** @throws {TypeError} naming the option that is missing or wrong */
export function readServeOptions({ secret, ...options }: ServeOptions): ServeSettings {
  const given =
    secret ??
    readVariable("TIDEMILL_ENDPOINT_SECRET")
      ?.split(",")
      .map((one) => one.trim());
  if (given === undefined) throw new TypeError("secret is required: pass { secret }, or set TIDEMILL_ENDPOINT_SECRET.");
  const [first, ...more] = typeof given === "string" ? [given] : given;
  if (first === undefined || ![first, ...more].every((one) => typeof one === "string" && SECRET.test(one)))
    throw new TypeError("secret must be cbs_ and 43 letters, digits, hyphens and underscores, or a list of such secrets.");
  return { worker: readWorkerOptions({ ...options, name: "serve" }), secrets: [first, ...more] };
}
