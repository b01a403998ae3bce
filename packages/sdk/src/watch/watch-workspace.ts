import type { LiveEvent } from "@tidemill/contract";
import type { CallOptions } from "../options.ts";
import type { Transport } from "../transport.ts";
import { followStream } from "./follow-stream.ts";

/**
 * Follows what changes in the workspace, until its signal ends it. When the connection breaks, it reconnects, and yields `connected` again.
 */
export async function* watchWorkspace(transport: Transport, call?: CallOptions): AsyncGenerator<LiveEvent, void> {
  const events = followStream(transport, { path: "/v1/live", what: "changes", headers: () => ({}) }, call);
  for await (const event of events) {
    if (event === null) yield { type: "connected" };
    else if (event.event === "changed") yield { type: "changed", ...(JSON.parse(event.data) as { readonly kinds: readonly string[] }) };
  }
}
