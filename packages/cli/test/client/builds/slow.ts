import { workflow } from "@tidemill/sdk";

export const slow = workflow({ id: "slow" }, () => null);

/** The test decides when it is loaded. */
await (globalThis as { readonly slowIsLoaded?: Promise<void> }).slowIsLoaded;
