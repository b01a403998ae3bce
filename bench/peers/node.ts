import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { enableCompileCache } from "node:module";
import type * as Server from "@tidemill/server";
import { TurnWatch } from "../turns.ts";

/** A node as `tidemill up` starts it. With BENCH_PROFILE it writes a CPU profile of its life there when it stops. */
const profilePath = process.env.BENCH_PROFILE;
const session = new Session();
enableCompileCache();
const { readConfig, startNode }: typeof Server = await import("@tidemill/server");
const node = await startNode(readConfig(process.env));
if (profilePath) {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
}
process.send?.({ url: node.url, internalUrl: node.internalUrl, port: Number(new URL(node.url).port) });
/** Watched from the first question on: scenarios that do not ask are spared its timer. */
const turns = new TurnWatch();
process.on("message", ({ turns: isAsked }: { turns?: true }) =>
  process.send?.(isAsked ? turns.take() : { rssBytes: process.memoryUsage().rss, cpu: process.cpuUsage() }),
);
process.on("disconnect", () => void end());

async function end(): Promise<void> {
  if (profilePath) writeFileSync(profilePath, JSON.stringify((await session.post("Profiler.stop")).profile));
  await node.stop();
  process.exit(0);
}
