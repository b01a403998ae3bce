import type { PatchQueue, Queue } from "@tidemill/contract";
import { wholeNumberProblem } from "../../ui/whole-number.ts";

/** The settings of a queue as texts of a form. An empty text means no value. */
export interface SettingTexts {
  callback_url: string;
  callback_headers: string;
  callback_timeout: string;
  attempts: string;
  backoff_ms: string;
  concurrency: string;
  concurrency_per_key: string;
  rate_max: string;
  rate_seconds: string;
  approval_timeout: string;
  on_timeout: string;
}

const text = (value: string | number | null | undefined): string => (value === null || value === undefined ? "" : String(value));

export const textsOf = (queue: Queue): SettingTexts => ({
  callback_url: text(queue.callback_url),
  callback_headers: Object.entries(queue.callback_headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n"),
  callback_timeout: text(queue.callback_timeout),
  attempts: text(queue.defaultJobOptions.attempts),
  backoff_ms: text(queue.defaultJobOptions.backoff.delay),
  concurrency: text(queue.concurrency),
  concurrency_per_key: text(queue.concurrency_per_key),
  rate_max: text(queue.rate_limit?.max),
  rate_seconds: text(queue.rate_limit?.per_seconds),
  approval_timeout: text(queue.approval?.timeout),
  on_timeout: text(queue.approval?.on_timeout),
});

/** Names of settings for people. */
export const LABELS: Readonly<Record<keyof SettingTexts, string>> = {
  callback_url: "Callback URL",
  callback_headers: "Headers",
  callback_timeout: "Timeout of a callback (s)",
  attempts: "Attempts",
  backoff_ms: "Wait before the second attempt (ms)",
  concurrency: "Jobs at once",
  concurrency_per_key: "Jobs at once with the same key",
  rate_max: "Starts at most",
  rate_seconds: "in seconds",
  approval_timeout: "Approval time-out (s)",
  on_timeout: "When an approval times out",
};

/** Whether a number may be left out, which the others may not: they have defaults. */
const NUMBERS: Partial<Record<keyof SettingTexts, "optional" | "required">> = {
  callback_timeout: "required",
  attempts: "required",
  backoff_ms: "required",
  concurrency: "optional",
  concurrency_per_key: "required",
  rate_max: "optional",
  rate_seconds: "optional",
  approval_timeout: "optional",
};

/** What is wrong with a number that was typed. A number that cannot be read would be sent as null, which means no limit. */
export function problemOf(name: keyof SettingTexts, before: SettingTexts, after: SettingTexts): string | null {
  const rule = NUMBERS[name];
  if (!rule || after[name] === before[name]) return null;
  return rule === "optional" && after[name].trim() === "" ? null : wholeNumberProblem(after[name]);
}

/** The request that changes only what differs, so that changes by others meanwhile stay. */
export function patchOf(before: SettingTexts, after: SettingTexts): PatchQueue {
  const changed = (...names: (keyof SettingTexts)[]) => names.some((name) => before[name] !== after[name]);
  const number = (name: keyof SettingTexts) => Number(after[name]);
  const orNull = (name: keyof SettingTexts) => (after[name].trim() === "" ? null : Number(after[name]));
  const options = {
    ...(changed("attempts") && { attempts: number("attempts") }),
    ...(changed("backoff_ms") && { backoff: { type: "exponential" as const, delay: number("backoff_ms") } }),
  };
  return {
    ...(changed("callback_url") && { callback_url: after.callback_url.trim() || null }),
    ...(changed("callback_headers") && { callback_headers: headersOf(after.callback_headers) }),
    ...(changed("callback_timeout") && { callback_timeout: number("callback_timeout") }),
    ...(Object.keys(options).length > 0 && { defaultJobOptions: options }),
    ...(changed("concurrency") && { concurrency: orNull("concurrency") }),
    ...(changed("concurrency_per_key") && { concurrency_per_key: number("concurrency_per_key") }),
    ...(changed("rate_max", "rate_seconds") && {
      rate_limit:
        after.rate_max.trim() === ""
          ? null
          : {
              ...(changed("rate_max") && { max: number("rate_max") }),
              ...(changed("rate_seconds") && { per_seconds: number("rate_seconds") }),
            },
    }),
    ...(changed("approval_timeout", "on_timeout") && {
      approval: {
        ...(changed("approval_timeout") && { timeout: orNull("approval_timeout") }),
        ...(changed("on_timeout") && { on_timeout: after.on_timeout === "approve" ? ("approve" as const) : ("reject" as const) }),
      },
    }),
  };
}

/** `name: value` by lines. */
const headersOf = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines.split("\n").flatMap((line) => {
      const at = line.indexOf(":");
      const name = (at < 0 ? line : line.slice(0, at)).trim();
      return name === "" ? [] : [[name, at < 0 ? "" : line.slice(at + 1).trim()] as const];
    }),
  );
