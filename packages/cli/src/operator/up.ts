import { type Config, type Node, startNode } from "@tidemill/server";
import { exitWithError } from "../exit-with-error.ts";
import { loadConfig, warnOfUnknownSettings } from "./load-config.ts";

/** Ctrl-C, a supervisor's signal, a closed terminal. */
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** When npm runs this program, one Ctrl-C arrives twice: from the terminal and from npm. Milliseconds between the two. */
const ECHO_MS = 250;

/** `tidemill up`: runs a node until a signal stops it, even during the start. A second signal ends the process immediately. */
export async function up(): Promise<void> {
  const startedMs = performance.now();
  warnOfUnknownSettings();
  const config = loadConfig();
  const stopping = new AbortController();
  const starting = startNode(config, {}, stopping.signal);
  starting.catch((error) => {
    if (error !== stopping.signal.reason) exitWithError(error);
    process.stdout.write("  The start was broken off.\n");
    process.exit(0);
  });

  let stoppingSinceMs: number | null = null;
  const stop = async (signal: NodeJS.Signals) => {
    if (stoppingSinceMs !== null) {
      if (performance.now() - stoppingSinceMs > ECHO_MS) process.exit(1);
      return;
    }
    stoppingSinceMs = performance.now();
    process.stdout.write(`\n  ${signal}: stopping after the running attempts have finished. Send it again to stop immediately.\n`);
    stopping.abort();
    // A start that fails exits above.
    const node = await starting;
    await node.stop().catch(exitWithError);
    process.exit(0);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  process.stdout.write(welcome(await starting, config, performance.now() - startedMs));
}

/** A configured key is not shown, because it would get into logs. */
function welcome({ url, internalUrl, firstKey, setupUrl }: Node, { bootstrapKey, env }: Config, tookMs: number): string {
  const isGiven = firstKey !== null && firstKey === bootstrapKey;
  const key = isGiven ? "'\"$TIDEMILL_BOOTSTRAP_KEY\"'" : firstKey;
  const lines = [
    "",
    `  Tidemill is up after ${(tookMs / 1000).toFixed(2)} s.`,
    "",
    `  API      ${url}`,
    `  Docs     ${url}/docs`,
    `  Metrics  ${internalUrl}/metrics`,
  ];
  if (setupUrl) {
    lines.splice(4, 0, `  Sign in  ${setupUrl}`, "           The link can be used once. It makes you the first person of the dashboard.");
  }
  if (env === "development")
    lines.push("  Mode     development: callbacks may go to loopback addresses. Set TIDEMILL_ENV=production to refuse them.");
  if (firstKey) {
    lines.push(
      ...(isGiven
        ? ["  Key      is the one in TIDEMILL_BOOTSTRAP_KEY."]
        : [`  Key      ${firstKey}`, "           It is only shown this once. Store it safely."]),
      "",
      "  Try it:",
      "",
      `    curl -s ${url}/v1/queues -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"name":"hello"}'`,
    );
  } else {
    lines.push(
      "  Key      was shown at the first start; `npm run tidemill -- workspace create NAME` creates another workspace with a key.",
    );
  }
  return `${lines.join("\n")}\n\n`;
}
