import { parseArgs } from "node:util";

const HELP = `Enqueues jobs, receives their callbacks, and checks that every acknowledged job was delivered and completed.

  npm run demo -- [--jobs N] [--rate N] [--host ADDRESS]

  --jobs N        number of jobs (default 1000)
  --rate N        jobs per second; 0 means as fast as possible (default 0)
  --host ADDRESS  address on which the demo's handler listens; the service must be able to reach it (default 127.0.0.1)

Set TIDEMILL_URL and TIDEMILL_KEY to use a particular service. Without them the demo uses the service that listens on
TIDEMILL_PORT. If there is none, it starts one and stops it at the end.
`;

export interface Options {
  readonly jobs: number;
  /** Jobs per second. 0 means as fast as possible. */
  readonly rate: number;
  readonly host: string;
}

/** Reads the command line. Ends the process after `--help` and after invalid options. */
export function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        jobs: { type: "string", default: "1000" },
        rate: { type: "string", default: "0" },
        host: { type: "string", default: "127.0.0.1" },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help) {
      process.stdout.write(HELP);
      process.exit(0);
    }
    return { jobs: readInteger("jobs", values.jobs, 1), rate: readInteger("rate", values.rate, 0), host: values.host };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

function readInteger(name: string, text: string, min: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < min) throw new Error(`--${name} must be a whole number of at least ${min}.`);
  return Number(text);
}
