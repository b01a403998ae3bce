import { InvalidSignatureError, verifyCallback } from "@tidemill/sdk";
import express from "express";

const secret = process.env.CALLBACK_SECRET ?? "";
const app = express();

// The signature is over the body as it arrived: express.json() must not parse it first.
app.post("/callback", express.raw({ type: "application/json", limit: "2mb" }), async (request, response) => {
  try {
    const { id, payload } = await verifyCallback<{ to: string }>(request, secret);
    console.log(`${id}: a mail to ${payload.to}`);
    response.json({ sent: payload.to });
  } catch (error) {
    if (!(error instanceof InvalidSignatureError)) throw error;
    response.sendStatus(401);
  }
});

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("Listening on", server.address()));
