import type { AddressInfo } from "node:net";
import { expressHandler } from "@tidemill/sdk";
import express from "express";
import { handler, register } from "./onboard.ts";

const app = express();

// The signature is over the body as it arrived: express.json() must not parse it first.
app.post("/tidemill", expressHandler(handler));
app.use(express.json());

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", async () => {
  await register((server.address() as AddressInfo).port);
  console.log("Listening on", server.address());
});
