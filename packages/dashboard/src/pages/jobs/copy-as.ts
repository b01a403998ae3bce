import { RawJson } from "../../api/raw-json.ts";
import { ROOT } from "../../api/request.ts";
import { writeJson } from "../../api/write-json.ts";
import type { JobRecord } from "./job-record.ts";

/** The service's address as this browser reaches it. */
const serviceUrl = (): string => new URL(`${ROOT}..`, window.location.href).href.replace(/\/$/, "");

/** A text as one word of a POSIX shell, whatever it contains. */
const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const payloadOf = ({ payload }: JobRecord): string => (payload instanceof RawJson ? payload.text : "null");

const optionsOf = ({ tag, concurrencyKey, priority }: JobRecord) => ({
  tag: tag ?? undefined,
  concurrencyKey: concurrencyKey ?? undefined,
  priority: priority === 0 ? undefined : priority,
});

/** A request that enqueues a job like this one. */
export function asCurl(job: JobRecord): string {
  const body = writeJson({ payload: new RawJson(payloadOf(job)), ...optionsOf(job) });
  const url = `${serviceUrl()}/v1/queues/${encodeURIComponent(job.queue)}/jobs`;
  return [
    `curl ${shellWord(url)}`,
    `  -H "Authorization: Bearer $TIDEMILL_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${shellWord(body)}`,
  ].join(" \\\n");
}

export function asSdk(job: JobRecord): string {
  const options = writeJson(optionsOf(job));
  const more = options === "{}" ? "" : `, ${options}`;
  return `await tidemill.queue(${JSON.stringify(job.queue)}).enqueue(${payloadOf(job)}${more});`;
}

export function asCli(job: JobRecord): string {
  const { tag, concurrencyKey, priority } = optionsOf(job);
  return [
    `tidemill enqueue ${shellWord(job.queue)} ${shellWord(payloadOf(job))}`,
    ...(tag === undefined ? [] : [`--tag ${shellWord(tag)}`]),
    ...(concurrencyKey === undefined ? [] : [`--concurrency-key ${shellWord(concurrencyKey)}`]),
    ...(priority === undefined ? [] : [`--priority=${priority}`]),
  ].join(" ");
}
