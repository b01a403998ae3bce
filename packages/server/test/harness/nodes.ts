import { test as base } from "./engine.ts";
import { Service, startTestNode, until } from "./service.ts";

/** As `test`, with a node that was started with these environment variables. */
export const testWith = (settings: Record<string, string>) =>
  base.extend("node", { scope: "file" }, async ({ database, clock }, { onCleanup }) => {
    const node = await startTestNode(database, clock, settings);
    onCleanup(() => node.stop());
    return node;
  });

/** So seldom that a test never sees it: what happens, happens because of a wake-up. */
export const NEVER_POLL = { TIDEMILL_POLL_EVERY_MS: "3600000" };

/**
 * Starts a node beside the one of `service`, on the same database and for the same workspace. Both know of each other when this
 * answers.
 */
export async function joinedBy(service: Service, settings: Record<string, string> = {}): Promise<Service> {
  const { database, clock, key, workspaceId: id } = service;
  const renewed = async () =>
    (await database.query<{ at: Date }>("select expires_at as at from lease where expires_at > now() order by id"))[0]?.at.getTime();
  const before = await renewed();
  const other = new Service(await startTestNode(database, clock, settings), database, clock, { id, key });
  // The first one renews its lease when it hears of the other, and then knows that it has a peer.
  await until(async () => (await renewed()) !== before, "the first node to hear of the other");
  return other;
}
