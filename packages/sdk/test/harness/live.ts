import { type AddressInfo, createServer, type Socket } from "node:net";
import { Tidemill } from "@tidemill/sdk";
import { test as base, inject } from "vitest";
import { TestDatabase } from "../../../server/test/harness/database.ts";
import { newWorkspace, startTestNode } from "../../../server/test/harness/service.ts";

/** A workspace of a node whose time is real: receivers compare the time of a signature with their own clock. */
export interface Live {
  readonly url: string;
  readonly key: string;
  readonly tidemill: Tidemill;
}

/** One node per file, one workspace per test. `silent` is the address of a server that never responds. */
export const test = base
  .extend("database", { scope: "file" }, async ({}, { onCleanup }) => {
    const database = await TestDatabase.create(inject("postgres"));
    onCleanup(() => database.close());
    return database;
  })
  .extend("node", { scope: "file" }, async ({ database }, { onCleanup }) => {
    const node = await startTestNode(database);
    onCleanup(() => node.stop());
    return node;
  })
  .extend("silent", async ({}, { onCleanup }) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const open = new Set<Socket>();
    server.on("connection", (socket) => open.add(socket.on("error", () => {})));
    onCleanup(() => {
      for (const socket of open) socket.destroy();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  })
  .extend("live", async ({ database, node }): Promise<Live> => {
    const { key } = await newWorkspace(database);
    return { url: node.url, key, tidemill: new Tidemill({ url: node.url, key }) };
  });
