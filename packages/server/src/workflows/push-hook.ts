import { type ClaimedHook, giveHook } from "./give-hooks.ts";

/** A hook that is sent to an endpoint, as JSON text. Source: docs/run-protocol.md. */
export const pushHook = (hook: ClaimedHook): string => `{"kind":"hook",${giveHook(hook).slice(1)}`;
