import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { InvalidSignatureError, verifyCallback } from "@tidemill/sdk";

const secret = process.env.CALLBACK_SECRET ?? "";

const server = createServer(async (request, response) => {
  try {
    const body = await buffer(request);
    const { id, payload } = await verifyCallback<{ to: string }>({ headers: request.headers, body }, secret);
    console.log(`${id}: a mail to ${payload.to}`);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ sent: payload.to }));
  } catch (error) {
    response.writeHead(error instanceof InvalidSignatureError ? 401 : 500).end();
    console.error(error);
  }
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("Listening on", server.address()));
