import { type ClaimedHook, hookText } from "./hook-text.ts";

/** A hook that is sent to an endpoint, as JSON text. Source: docs/run-protocol.md. */
export const pushHook = (hook: ClaimedHook): string => `{"kind":"hook",${hookText(hook).slice(1)}`;
