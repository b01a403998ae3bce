import cronstrue from "cronstrue";

const NAMED: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
};

/** "At 02:30", "At 09:00 and 17:00". */
const ONLY_TIMES = /^At [\d:, and]+$/;

/** A cron expression in words, or the expression itself if it cannot be put in words. */
export function inWords(cron: string): string {
  try {
    const words = cronstrue.toString(NAMED[cron.trim()] ?? cron, { use24HourTimeFormat: true });
    return ONLY_TIMES.test(words) ? `${words}, every day` : words;
  } catch {
    return cron;
  }
}
