import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Builds the pages before the tests, unless they are built from these sources. */
export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL("../../build.ts", import.meta.url))], { stdio: "inherit" });
}
