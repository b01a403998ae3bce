import { serve } from "@hono/node-server";
import { InvalidSignatureError, verifyCallback } from "@tidemill/sdk";
import { Hono } from "hono";

const secret = process.env.CALLBACK_SECRET ?? "";
const app = new Hono();

app.post("/callback", async (context) => {
  try {
    const { id, payload } = await verifyCallback<{ to: string }>(context.req.raw, secret);
    console.log(`${id}: a mail to ${payload.to}`);
    return context.json({ sent: payload.to });
  } catch (error) {
    if (!(error instanceof InvalidSignatureError)) throw error;
    return context.body(null, 401);
  }
});

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" }, (address) =>
  console.log("Listening on", address),
);
