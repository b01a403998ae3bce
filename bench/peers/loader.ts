import { type Load, load } from "../load.ts";

/** Runs loads that it is told over IPC, in a process of its own. */
process.on("message", (options: Load) => void load(options).then((result) => process.send?.(result)));
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: true });
