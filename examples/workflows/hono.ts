import { serve } from "@hono/node-server";
import { honoHandler } from "@tidemill/sdk";
import { Hono } from "hono";
import { handler, register } from "./onboard.ts";

const app = new Hono();

app.post("/tidemill", honoHandler(handler));

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" }, async (address) => {
  await register(address.port);
  console.log("Listening on", address);
});
