import { type Command, InvalidArgumentError, Option } from "commander";
import { onService } from "./command.ts";
import { addressOf, withJob } from "./job-address.ts";
import { type ReceiverOptions, receive } from "./receiver.ts";
import { replayTo } from "./replay.ts";
import { tailQueues } from "./tail.ts";

const DEFAULT_PORT = 3000;
const DEFAULT_EVERY_SECONDS = 2;

/** Commands for a developer who watches jobs as they happen. */
export function addLiveCommands(program: Command): void {
  onService<{ every: number }>(
    program
      .command("tail")
      .description("Print jobs of queues as they are enqueued and as they change, until Ctrl-C. Follows the newest 100 jobs of each queue")
      .argument("<queue...>", "Names of queues, at most 10")
      .option(
        "--every <seconds>",
        "Shortest time between two requests, 1 to 60 seconds. A request is sent when jobs have changed",
        wholeNumber(1, 60),
        DEFAULT_EVERY_SECONDS,
      ),
    (tidemill, { args, options }) => tailQueues(tidemill, args, options),
  );

  onService<{ to: string }>(
    withJob(
      program
        .command("replay")
        .description(
          "Send a job to a handler under development, signed with the secret of its queue. Templates are not replaced by secrets. The command is recorded in the audit log",
        )
        .requiredOption("--to <url>", "Where to send it, for example http://localhost:3000 (required)", httpUrl),
    ),
    async (tidemill, { args, options }) => replayTo(tidemill, await addressOf(tidemill, args), options),
  );

  program
    .command("dev")
    .description("Receive callbacks on this machine until Ctrl-C, print them, and verify their signatures")
    .addOption(
      new Option("--secret <secret...>", "Callback secret of the queue, cbs_…; several while it is rotated")
        .argParser(addSecret)
        .env("TIDEMILL_CALLBACK_SECRET"),
    )
    .option("--port <number>", "Port to listen on; 0 chooses a free one", wholeNumber(0, 65_535), DEFAULT_PORT)
    .option("--host <address>", "Address to listen on", "127.0.0.1")
    .option("--status <status>", "Status to respond with", wholeNumber(200, 599), 200)
    .option("--json", "Print one line of JSON for each callback")
    .action((options: ReceiverOptions) => receive(options));
}

/** A partly pasted secret would make every signature invalid. */
function addSecret(text: string, before: readonly string[] | undefined): readonly string[] {
  if (text !== "" && !/^cbs_[A-Za-z0-9_-]{43}$/.test(text))
    throw new InvalidArgumentError("Expected cbs_ followed by 43 letters, digits, dashes or underscores.");
  return [...(before ?? []), text];
}

const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    if (!/^\d{1,5}$/.test(text) || Number(text) < min || Number(text) > max)
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    return Number(text);
  };

function httpUrl(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? "")) throw new InvalidArgumentError("Expected an http or https URL.");
  return text;
}
