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
  return `await tidemill.queue(${JSON.stringify(job.queue)}).enqueue(${asScript(payloadOf(job))}${more});`;
}

/** The strings and numbers of a JSON text, each string with the colon that makes it a name. */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g;
/** A number with more digits may lose some in a script. */
const SAFE_DIGITS = 15;

/** JSON as an expression of JavaScript: numbers keep their digits, and `__proto__` is a name like any other. */
const asScript = (json: string): string =>
  json.replace(TOKENS, (token, colon?: string) => {
    if (token.startsWith('"'))
      return colon !== undefined && JSON.parse(token.slice(0, -colon.length)) === "__proto__" ? `["__proto__"]${colon}` : token;
    const isSafe = token.replace(/[eE].*$/, "").replace(/\D/g, "").length <= SAFE_DIGITS && Number.isFinite(Number(token));
    return isSafe ? token : `JSON.rawJSON("${token}")`;
  });

export function asCli(job: JobRecord): string {
  const { tag, concurrencyKey, priority } = optionsOf(job);
  const payload = payloadOf(job);
  return [
    "tidemill enqueue",
    ...(tag === undefined ? [] : [`--tag ${shellWord(tag)}`]),
    ...(concurrencyKey === undefined ? [] : [`--concurrency-key ${shellWord(concurrencyKey)}`]),
    ...(priority === undefined ? [] : [`--priority=${priority}`]),
    // A negative number is not an option.
    ...(payload.startsWith("-") ? ["--"] : []),
    shellWord(job.queue),
    shellWord(payload),
  ].join(" ");
}
