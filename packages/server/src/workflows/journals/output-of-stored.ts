import type { StepType } from "@tidemill/contract";
import { type Db, problem } from "#kernel";
import type { RunKey } from "../runs/run.ts";
import { findStep } from "../runs/run-store.ts";

/**
 * The output of a step that the journal has, as JSON text. Null: it has none with this key.
 *
 * @throws CONFLICT if it has one of another type, or one that failed
 */
export async function outputOfStored(tx: Db, run: RunKey, key: string, type: StepType): Promise<string | null> {
  const stored = await findStep(tx, run, key);
  if (!stored) return null;
  if (stored.type === type && stored.status === "completed") return stored.output ?? "null";
  const message = `The journal has a step "${key}" of the type ${stored.type}, which is ${stored.status}.`;
  throw problem("CONFLICT", { step: key, reason: "StepStored" }, { message });
}
