import { test as base } from "./engine.ts";
import { newWorkspace, Service, startTestNode, until } from "./service.ts";

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
 * As `test`, with a second node on the same database that speaks for the same workspace. Both know of each other when the
 * test begins.
 */
export const testWithTwo = (settings: Record<string, string> = {}, second: Record<string, string> = settings) =>
  testWith(settings).extend("other", async ({ database, clock, node, service }, { onCleanup }) => {
    const renewals = () => database.query<{ lease_until: Date }>("select lease_until from node where lease_until > now() order by id");
    const before = (await renewals())[0]?.lease_until;
    const other = await startTestNode(database, clock, second);
    onCleanup(() => other.stop());
    // The first one renews its lease when it hears of the other, and then knows that it has a peer.
    await until(async () => (await renewals())[0]?.lease_until.getTime() !== before?.getTime(), `${node.url} to hear of the other node`);
    return new Service(other, database, clock, { id: service.workspaceId, key: service.key });
  });

export { newWorkspace, until };
