import { test as base } from "./engine.ts";
import { Service, startTestNode, until } from "./service.ts";

/** As `test`, with a node that is started with these environment variables. */
export const testWith = (settings: Record<string, string>) =>
  base.extend("node", { scope: "file" }, async ({ database, clock }, { onCleanup }) => {
    const node = await startTestNode(database, clock, settings);
    onCleanup(() => node.stop());
    return node;
  });

/** A node with these settings never polls during a test. Everything happens because of wake-ups. */
export const NEVER_POLL = { TIDEMILL_POLL_EVERY_MS: "3600000" };

/** A node with these settings holds its lease though a test lets time pass by the elapsed clock. */
export const LONG_NODE_LEASE = { TIDEMILL_NODE_LEASE_SECONDS: "3600" };

/**
 * Starts another node on the database of `service`, for the same workspace. When this returns, both nodes know each other.
 */
export async function joinedBy(service: Service, settings: Record<string, string> = {}): Promise<Service> {
  const { database, clock, key, workspaceId: id } = service;
  const other = new Service(await startTestNode(database, clock, settings), database, clock, { id, key });
  // The first node renews its lease when it learns of the other. Then it knows that it has a peer.
  const renewed = () =>
    database.query("select from node, node as other where node.url = $1 and other.url = $2 and node.seen_at > other.seen_at", [
      service.node.url,
      other.node.url,
    ]);
  await until(async () => (await renewed()).length > 0, "the first node to hear of the other");
  return other;
}
