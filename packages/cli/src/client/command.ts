import { Tidemill, type TidemillOptions } from "@tidemill/sdk";
import { type Command, Option } from "commander";
import { parseExactly } from "../parse-exactly.ts";
import { type ConnectionOptions, chooseService } from "../profile/choose.ts";
import { readProfiles } from "../profile/file.ts";

/** Options that every command of this folder has. */
export interface CommonOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** What a command gets: its arguments in order, and its options. */
interface Invocation<Options> {
  readonly args: readonly string[];
  readonly options: Options & CommonOptions;
}

type Run<Options> = (tidemill: Tidemill, invocation: Invocation<Options>) => Promise<void>;

const CONNECTION = "Service:";

/** Adds the options that say which service a command uses, and `--json`. */
export const withConnection = (command: Command): Command =>
  command
    .option("--json", "Print JSON")
    .addOption(new Option("--url <url>", "Address of the service").helpGroup(CONNECTION))
    .addOption(
      new Option("--key <key>", "Key of the workspace. Prefer TIDEMILL_KEY, which keeps it out of the shell's history").helpGroup(
        CONNECTION,
      ),
    )
    .addOption(new Option("--profile <name>", "A service and key that were saved with tidemill login").helpGroup(CONNECTION));

/** Makes a command one that uses a service. */
export const onService = <Options = object>(command: Command, run: Run<Options>): Command =>
  withConnection(command).action((...given: unknown[]) => runOnService(given.at(-1) as Command, run));

/** Connects with the options of a command, and runs it. */
export function runOnService<Options>(command: Command, run: Run<Options>): Promise<void> {
  const options = command.opts<Options & CommonOptions>();
  return run(connect(options), { args: argumentsOf(command), options });
}

const argumentsOf = (command: Command): string[] =>
  (command.processedArgs as (string | string[] | undefined)[]).flat().filter((one) => one !== undefined);

/** How long a request is retried when the service does not respond. It is short, because a person waits. Milliseconds. */
const RETRY_FOR_MS = 3_000;

/** A client of the service that the options name. It shows payloads and results with all their digits. */
export const connect = (options: ConnectionOptions): Tidemill =>
  createClient(options, { retryForMs: RETRY_FOR_MS, parseJson: parseExactly });

/** Like `connect`, with the command's own settings. */
export const createClient = (options: ConnectionOptions, settings: Pick<TidemillOptions, "retryForMs" | "parseJson">): Tidemill =>
  new Tidemill({ ...chooseService(options, process.env, readProfiles), ...settings });
