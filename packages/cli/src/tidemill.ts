#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// Names of callback hosts are resolved on libuv's threads. Node has four by default, and a few hanging name servers would block them all.
process.env.UV_THREADPOOL_SIZE ??= "32";

// Before anything else is loaded: from the second start on, modules are neither compiled nor stripped of types again.
enableCompileCache();
await import("./commands.ts");
