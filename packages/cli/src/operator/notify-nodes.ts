import { Broadcaster, type Message, type OpenDatabases } from "@tidemill/server";

/** Notifies the nodes on this database of a change that a command made. A node that misses it finds the change within a second by polling. */
export async function notifyNodes({ engine }: OpenDatabases, message: Message): Promise<void> {
  const broadcaster = new Broadcaster(engine, () => {});
  broadcaster.send(message);
  await broadcaster.flush();
}
