import { Agent, request } from "node:http";
import type { Bodies } from "../bare-bodies.ts";
import { carryOut, concurrently, LISTS } from "../client-orders.ts";

/** HTTP with nothing around it, as a floor: sends to peers/bare-server.ts what a client sends, and parses the responses. */
carryOut(async ({ kind, url, jobs }) => {
  const agent = new Agent({ keepAlive: true });
  const sample = (await (await fetch(`${url}/${kind}`)).json()) as Bodies;
  const { hostname, port } = new URL(url);
  const post = (body: string) =>
    new Promise<string>((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const sent = request({ hostname, port, path: `/${kind}`, method: "POST", agent, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece) => {
          text += piece;
        });
        response.on("end", () => resolve(text)).on("error", reject);
      });
      sent.on("error", reject).end(body);
    });
  const call = async () => JSON.parse(await post(JSON.stringify(sample.request)));
  const run = () => concurrently(kind === "enqueueMany" ? LISTS : 2, Math.ceil(jobs / sample.jobs), call);
  return { run, close: async () => agent.destroy() };
});
