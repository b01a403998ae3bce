import { type Node, startNode, unknownSettings } from "@tidemill/server";
import { fail } from "./fail.ts";
import { takeConfig } from "./take-config.ts";

/** Ctrl-C, a supervisor's word, a terminal that is closed. */
const ENDS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A Ctrl-C reaches us twice when npm runs us: from the terminal, and passed on by npm. */
const ECHO_MS = 250;

/** Starts a node and keeps it until a signal ends it, also one that comes during the start. A second signal ends it at once. */
export async function up(): Promise<void> {
  const startedMs = performance.now();
  for (const name of unknownSettings(process.env))
    process.stderr.write(`tidemill: ${name} is not a setting; "tidemill config" lists them.\n`);
  const starting = startNode(takeConfig());
  starting.catch(fail);

  let endingSinceMs: number | null = null;
  const end = async (signal: NodeJS.Signals) => {
    if (endingSinceMs !== null) {
      if (performance.now() - endingSinceMs > ECHO_MS) process.exit(1);
      return;
    }
    endingSinceMs = performance.now();
    process.stdout.write(`\n  ${signal}: finishing what is under way. Again to end at once.\n`);
    await starting.then((node) => node.stop()).catch(fail);
    process.exit(0);
  };
  for (const signal of ENDS) process.on(signal, end);
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
      "           It is shown this once; keep it.",
      "",
      "  Try it:",
      "",
      `    curl -s ${url}/v1/queues -H 'Authorization: Bearer ${firstKey}' -H 'Content-Type: application/json' -d '{"name":"hello"}'`,
    );
  } else {
    lines.push("  Key      was shown at the first start; `npm run tidemill -- workspace create NAME` makes another workspace and key.");
  }
  return `${lines.join("\n")}\n\n`;
}
