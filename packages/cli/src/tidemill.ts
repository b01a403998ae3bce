#!/usr/bin/env node
import nodeModule from "node:module";

const OLDEST_NODE = 24;
const [major = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST_NODE) {
  process.stderr.write(`tidemill: Node ${OLDEST_NODE} or later is needed, and this is ${process.version}.\n`);
  process.exit(1);
}

// Names of callback hosts are resolved on libuv's threads. Node has four by default, and a few hanging name servers would block them all.
process.env.UV_THREADPOOL_SIZE ??= "32";

// Before anything else is loaded: from the second start on, modules need not be compiled or stripped of types again.
nodeModule.enableCompileCache();
await import("./commands.ts");
