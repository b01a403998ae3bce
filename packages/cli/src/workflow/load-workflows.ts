import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyWorkflow } from "@tidemill/sdk";
import type * as testing from "@tidemill/sdk/testing";

/** The workflows of a local build, and the replay function of the SDK that they use. */
export interface LoadedWorkflows {
  readonly workflows: readonly AnyWorkflow[];
  readonly replayJournal: typeof testing.replayJournal;
}

/** How long a module may load before the user is told. Milliseconds. */
const SLOW_AFTER_MS = 5_000;

/**
 * Loads a module, and finds the workflows that it exports: singly, in lists, or in a worker.
 *
 * @param onSlow is called when the module has not been loaded after some seconds
 * @throws for a module that cannot be loaded, exports no workflow, or has two with the same id
 */
export async function loadWorkflows(file: string, onSlow: () => void): Promise<LoadedWorkflows> {
  const url = pathToFileURL(path.resolve(file)).href;
  const slow = setTimeout(onSlow, SLOW_AFTER_MS);
  const module: object = await import(/* @vite-ignore */ url)
    .catch((error: unknown) => {
      throw new Error(`${file} could not be loaded: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    })
    .finally(() => clearTimeout(slow));
  const found = new Set(Object.values(module).flatMap(workflowsIn));
  if (found.size === 0) throw new Error(`${file} exports no workflow. Export what workflow() returns, a list of these, or a Worker.`);
  const byId = new Map([...found].map((one) => [one.id, one]));
  if (byId.size < found.size) throw new Error(`${file} exports several workflows with the same id.`);
  return { workflows: [...byId.values()], replayJournal: await replayOf(url) };
}

function workflowsIn(exported: unknown): AnyWorkflow[] {
  if (typeof exported !== "object" || exported === null) return [];
  if (isWorkflow(exported)) return [exported];
  const list = Array.isArray(exported) ? exported : (exported as { workflows?: unknown }).workflows;
  return Array.isArray(list) ? list.filter(isWorkflow) : [];
}

const isWorkflow = (value: unknown): value is AnyWorkflow => {
  const { id, program, options } = (value ?? {}) as Partial<AnyWorkflow>;
  return typeof id === "string" && typeof program === "function" && typeof options === "object";
};

/** The errors that a workflow catches must be of the classes that it knows, so its own SDK replays it, if it has one. */
async function replayOf(url: string): Promise<LoadedWorkflows["replayJournal"]> {
  const own = ownSdk(url);
  const { replayJournal } = (own ? await import(/* @vite-ignore */ own) : {}) as Partial<typeof testing>;
  return replayJournal ?? (await import("@tidemill/sdk/testing")).replayJournal;
}

function ownSdk(url: string): string | null {
  try {
    return pathToFileURL(createRequire(url).resolve("@tidemill/sdk/testing")).href;
  } catch {
    return null;
  }
}
