import { parseArgs } from "node:util";

const HELP = `Enqueues jobs, takes their callbacks, and checks that every job that was acknowledged came and completed.

  npm run demo -- [--jobs N] [--rate N] [--host ADDRESS]

  --jobs N        how many jobs (1000)
  --rate N        jobs per second; 0 is as fast as it goes (0)
  --host ADDRESS  where the demo's handler listens; the service must reach it (127.0.0.1)

TIDEMILL_URL and TIDEMILL_KEY name a service to use. Without them the demo uses the one that runs at TIDEMILL_PORT,
or starts one for the while.
`;

export interface Options {
  readonly jobs: number;
  /** Jobs per second; 0 is as fast as it goes. */
  readonly rate: number;
  readonly host: string;
}

/** Reads the command line; ends the process when it asks for help or is wrong. */
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
    return { jobs: whole("jobs", values.jobs, 1), rate: whole("rate", values.rate, 0), host: values.host };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

function whole(name: string, text: string, least: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < least) throw new Error(`--${name} must be a whole number of at least ${least}.`);
  return Number(text);
}
