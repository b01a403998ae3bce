import type { AddressInfo } from "node:net";
import { fastifyPlugin } from "@tidemill/sdk";
import Fastify from "fastify";
import { handler, register } from "./onboard.ts";

const app = Fastify();

await app.register(fastifyPlugin(handler, { path: "/tidemill" }));

await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
await register((app.server.address() as AddressInfo).port);
console.log("Listening on", app.server.address());
