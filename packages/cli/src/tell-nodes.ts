import { Broadcaster, type Message, type OpenDatabases } from "@tidemill/server";

/** Tells the nodes on this database what was done beside them. One that does not hear it sees it within a second by itself. */
export async function tellNodes({ engine }: OpenDatabases, message: Message): Promise<void> {
  const broadcaster = new Broadcaster(engine, () => {});
  broadcaster.send(message);
  await broadcaster.flush();
}
