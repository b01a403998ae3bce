import { type Node, startNode, unknownSettings } from "@tidemill/server";
import { exitWithError } from "./exit-with-error.ts";
import { loadConfig } from "./load-config.ts";

/** Ctrl-C, a supervisor's request, a closed terminal. */
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** When npm runs this program, one Ctrl-C arrives twice: from the terminal and from npm. Milliseconds between the two. */
const ECHO_MS = 250;

/** `tidemill up`: runs a node until a signal stops it, even during the start. A second signal ends the process at once. */
export async function up(): Promise<void> {
  const startedMs = performance.now();
  for (const name of unknownSettings(process.env))
    process.stderr.write(`tidemill: ${name} is not a setting; "tidemill config" lists them.\n`);
  const starting = startNode(loadConfig());
  starting.catch(exitWithError);

  let stoppingSinceMs: number | null = null;
  const stop = async (signal: NodeJS.Signals) => {
    if (stoppingSinceMs !== null) {
      if (performance.now() - stoppingSinceMs > ECHO_MS) process.exit(1);
      return;
    }
    stoppingSinceMs = performance.now();
    process.stdout.write(`\n  ${signal}: stopping after the running attempts have finished. Send it again to stop at once.\n`);
    await starting.then((node) => node.stop()).catch(exitWithError);
    process.exit(0);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  process.stdout.write(welcome(await starting, performance.now() - startedMs));
}

function welcome({ url, internalUrl, firstKey }: Node, tookMs: number): string {
  const lines = [
    "",
    `  Tidemill is up after ${(tookMs / 1000).toFixed(2)} s.`,
    "",
    `  API      ${url}`,
    `  Docs     ${url}/docs`,
    `  Metrics  ${internalUrl}/metrics`,
  ];
  if (firstKey) {
    lines.push(
      `  Key      ${firstKey}`,
      "           It is only shown this once. Store it safely.",
      "",
      "  Try it:",
      "",
      `    curl -s ${url}/v1/queues -H 'Authorization: Bearer ${firstKey}' -H 'Content-Type: application/json' -d '{"name":"hello"}'`,
    );
  } else {
    lines.push(
      "  Key      was shown at the first start; `npm run tidemill -- workspace create NAME` creates another workspace with a key.",
    );
  }
  return `${lines.join("\n")}\n\n`;
}
