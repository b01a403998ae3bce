import { didYouMean } from "../nearest.ts";

/** Signals that a run in memory has awaited or registered, and workflows that it has invoked, with those of the runs that it invoked. */
export class Used {
  readonly signals = new Set<string>();
  readonly workflows = new Set<string>();

  /** @throws for a signal or a workflow that the run did not use (`checkUse`) */
  check({ signals = {}, invokes = {} }: { readonly signals?: object; readonly invokes?: object }, isComplete: boolean): void {
    checkUse("signals", Object.keys(signals), { used: this.signals, isComplete, unused: "the run did not wait for this signal" });
    checkUse("invokes", Object.keys(invokes), { used: this.workflows, isComplete, unused: "the run did not invoke this workflow" });
  }
}

interface Use {
  readonly used: ReadonlySet<string>;
  /** Whether the run has completed. Otherwise it may not have reached everything. */
  readonly isComplete: boolean;
  /** What a name means that was not used. */
  readonly unused: string;
}

/**
 * Refuses names in an option of `testWorkflow` that the run did not use: with a misspelt name, the test would not test what it means to. If
 * the run has not completed, only names that are similar to used ones are refused.
 *
 * @throws naming the first one
 */
export function checkUse(option: string, names: readonly string[], { used, isComplete, unused }: Use): void {
  for (const name of names) {
    if (used.has(name)) continue;
    const meant = didYouMean(
      name,
      [...used].filter((one) => !names.includes(one)),
    );
    if (isComplete || meant !== "") throw new Error(`${option} has "${name}", but ${unused}.${meant}`);
  }
}
