import { InvalidSignatureError, verifyCallback } from "@tidemill/sdk";
import Fastify from "fastify";

const secret = process.env.CALLBACK_SECRET ?? "";
const app = Fastify({ bodyLimit: 2 * 1024 * 1024 });

// The signature is over the body as it arrived. Other routes keep Fastify's JSON parser when this is in a plugin of its own.
await app.register(async (callbacks) => {
  callbacks.removeContentTypeParser("application/json");
  callbacks.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

  callbacks.post<{ Body: Buffer }>("/callback", async (request, reply) => {
    try {
      const { id, payload } = await verifyCallback<{ to: string }>(request, secret);
      console.log(`${id}: a mail to ${payload.to}`);
      return { sent: payload.to };
    } catch (error) {
      if (!(error instanceof InvalidSignatureError)) throw error;
      return reply.code(401).send();
    }
  });
});

await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
console.log("Listening on", app.server.address());
