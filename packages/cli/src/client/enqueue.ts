import { EnqueueJob } from "@tidemill/contract";
import type { EnqueueOptions, Tidemill } from "@tidemill/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { BulkEnqueue, BulkError, type Done } from "../bulk/enqueue-lines.ts";
import { openInput, untilAborted } from "../bulk/input.ts";
import { Interrupts } from "../bulk/interrupts.ts";
import { readLines } from "../bulk/lines.ts";
import { newRun, type ResumePoint, readResumePoint, showResumePoint } from "../bulk/resume-token.ts";
import { showCount, showProgress } from "../output/progress.ts";
import { printFields, printRecord } from "../output/table.ts";
import { type CommonOptions, connect, createClient, withConnection } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { FILE, readJsonInput } from "./json-input.ts";

interface BulkFlags extends CommonOptions {
  readonly file?: string;
  readonly ndjson?: boolean;
  readonly jobs?: boolean;
  readonly resume?: ResumePoint;
}

const OWN = ["payload"];
/** How long a batch is tried again when the service does not respond. Milliseconds. */
const RETRY_BATCHES_FOR_MS = 60_000;

export function addEnqueueCommand(program: Command): void {
  withConnection(
    addFields(
      program
        .command("enqueue")
        .description("Enqueue a job, or one for each line of a file")
        .argument("<queue>", "Name of the queue")
        .argument("[payload]", "The payload: any JSON value. Without it, the payload is read from the standard input")
        .option(...FILE)
        .option("--ndjson", "Each line is the payload of a job. Lines are enqueued in batches of 1,000")
        .option("--jobs", 'With --ndjson: each line is a job, {"payload": …, "tag": …}; its fields override the options')
        .option("--resume <point>", "With --ndjson: continue an earlier run that ended early. It printed the resume point", toResumePoint),
      EnqueueJob,
      OWN,
    ),
  ).action(async (queue: string, payload: string | undefined, options: BulkFlags) => {
    const shared = readFields<EnqueueOptions>(EnqueueJob, options, OWN);
    if (options.ndjson)
      return enqueueLines(createClient(options, { retryForMs: RETRY_BATCHES_FOR_MS }), { queue, payload, shared }, options);
    if (options.jobs || options.resume) throw new Error("--jobs and --resume are for --ndjson.");
    const value = await readJsonInput({ what: "payload", argument: payload, file: options.file });
    if (value === undefined) throw new Error("There is no payload: give it as an argument, with --file, or on the standard input.");
    printFields(await connect(options).queue(queue).enqueue(value, shared), options.json);
  });
}

interface BulkRequest {
  readonly queue: string;
  readonly payload: string | undefined;
  readonly shared: EnqueueOptions;
}

async function enqueueLines(tidemill: Tidemill, { queue, payload, shared }: BulkRequest, options: BulkFlags): Promise<void> {
  if (payload !== undefined) throw new Error("With --ndjson the payloads come from --file or the standard input.");
  if (shared.idempotencyKey !== undefined)
    throw new Error("--idempotency-key is for one job. Lines have keys of their own; --resume uses them.");
  const { chunks, bytes, close } = openInput(options);
  const interrupts = new Interrupts();
  const progress = showProgress(bytes.total);
  const bulk = new BulkEnqueue(tidemill.queue(queue), {
    from: options.resume ?? newRun(),
    shared,
    linesAreJobs: options.jobs === true,
    stop: interrupts.first,
    abort: interrupts.second,
    onBatch: ({ jobs }) => progress.update(bytes.read, `${showCount(jobs)} jobs`),
  });
  try {
    const done = await bulk.run(readLines(untilAborted(chunks, interrupts.first)));
    progress.end();
    printRecord(done, options.json);
  } catch (error) {
    progress.end();
    throw error instanceof BulkError ? explained(error, options.json) : error;
  } finally {
    interrupts.close();
    close();
  }
}

/** Prints how far the run came, and returns the error with what to do next. */
function explained({ message, cause, done, resumeAt }: BulkError, json: boolean | undefined): unknown {
  printRecord(done satisfies Done, json);
  process.stderr.write(`tidemill: To enqueue the rest, run the command again with --resume ${showResumePoint(resumeAt)}\n`);
  return cause instanceof Error ? Object.assign(cause, { message }) : cause;
}

function toResumePoint(given: string): ResumePoint {
  const point = readResumePoint(given);
  if (!point) throw new InvalidArgumentError("Expected the resume point that an earlier run printed.");
  return point;
}
