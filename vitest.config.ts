import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import LongTestsFirst from "./scripts/long-tests-first.ts";
import { temporaryDirectory } from "./scripts/temporary-directory.ts";

const packages = fileURLToPath(new URL("packages", import.meta.url));

process.env.TMPDIR = temporaryDirectory();

export default defineConfig({
  // The packages' own sources, as `node --conditions=source` finds them.
  resolve: {
    alias: [
      { find: /^#([a-z-]+)$/, replacement: `${packages}/server/src/$1/index.ts` },
      { find: /^@tidemill\/server$/, replacement: `${packages}/server/src/index.ts` },
      { find: /^@tidemill\/contract$/, replacement: `${packages}/contract/src/index.ts` },
      { find: /^@tidemill\/contract\/journal$/, replacement: `${packages}/contract/src/journal.ts` },
      { find: /^@tidemill\/contract\/limits$/, replacement: `${packages}/contract/src/limits.ts` },
      { find: /^@tidemill\/contract\/signing$/, replacement: `${packages}/contract/src/signing.ts` },
      { find: /^@tidemill\/contract\/workflow-check$/, replacement: `${packages}/contract/src/workflow-check.ts` },
      { find: /^@tidemill\/sdk\/testing$/, replacement: `${packages}/sdk/src/testing/index.ts` },
      { find: /^@tidemill\/sdk$/, replacement: `${packages}/sdk/src/index.ts` },
    ],
  },
  test: {
    include: ["packages/*/test/**/*.test.ts"],
    globalSetup: [
      "packages/dashboard/test/harness/built.ts",
      "packages/dashboard/test/harness/chromium.ts",
      "packages/server/test/harness/postgres.ts",
      "packages/server/test/harness/command.ts",
    ],
    setupFiles: ["packages/server/test/harness/show-service-log.ts"],
    reporters: ["default", "./scripts/count-reporter.ts"],
    // These bounds only end what hangs: a busy machine may be several times slower than an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // One more than two cores: tests of faults wait for leases to run out and processes to start.
    maxWorkers: 3,
    pool: "forks",
    // What is loaded once serves all files: nothing in a module changes.
    isolate: false,
    sequence: { sequencer: LongTestsFirst },
    execArgv: ["--conditions=source"],
  },
});
