#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// Before anything else is loaded: from the second start on, nothing is compiled or stripped of types again.
enableCompileCache();
await import("./commands.ts");
