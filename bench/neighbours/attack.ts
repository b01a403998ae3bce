import type { Plan } from "@tidemill/contract";
import type { Attacker } from "./attacker.ts";

/** An attack by one workspace, within the limits of its plan, on the others of its node. */
export interface Attack {
  readonly number: number;
  readonly name: string;
  readonly plan: Plan;
  /** How many file descriptors the node may have open. */
  readonly fileLimit?: number;
  /** Its preparation sets the moment at which it begins. With others, it is prepared last. */
  readonly timed?: boolean;
  /** Prepares what takes long. The workspace has no limits meanwhile. */
  readonly prepare: (attacker: Attacker) => Promise<Start>;
}

/** Begins the attack, which ends by itself or with its process. */
export type Start = () => Promise<unknown>;
