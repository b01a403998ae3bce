import { describeConfig, readConfig } from "@tidemill/server";
import { exitWithError } from "../exit-with-error.ts";
import { printJson, printTable } from "../output/table.ts";
import { warnOfUnknownSettings } from "./load-config.ts";

/** `tidemill config`: prints every setting with its value, default and meaning. */
export function showConfig({ json }: { json?: boolean }): void {
  warnOfUnknownSettings();
  try {
    const settings = describeConfig(readConfig(process.env));
    if (json) printJson(settings);
    else printTable(settings.map(({ name, value, about }) => ({ setting: name, value, about })));
  } catch (error) {
    exitWithError(error);
  }
}
