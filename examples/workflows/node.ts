import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeHandler } from "@tidemill/sdk";
import { handler, register } from "./onboard.ts";

const server = createServer(nodeHandler(handler));

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", async () => {
  await register((server.address() as AddressInfo).port);
  console.log("Listening on", server.address());
});
