import cronstrue from "cronstrue";

const NAMED: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
};

/** A cron expression in words, or the expression itself if it cannot be put in words. */
export function inWords(cron: string): string {
  try {
    return cronstrue.toString(NAMED[cron.trim()] ?? cron, { use24HourTimeFormat: true, verbose: true });
  } catch {
    return cron;
  }
}
