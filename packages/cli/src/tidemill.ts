#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// Names of callback hosts are looked up on these threads, of which Node has four: a few name servers that hang would hold them all.
process.env.UV_THREADPOOL_SIZE ??= "32";

// Before anything else is loaded: from the second start on, nothing is compiled or stripped of types again.
enableCompileCache();
await import("./commands.ts");
