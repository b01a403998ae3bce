import { describeConfig, readConfig } from "@tidemill/server";
import { fail } from "./fail.ts";
import { printJson, printTable } from "./table.ts";

/** Prints every setting with its value, its default and what it is for. */
export function showConfig({ json }: { json?: boolean }): void {
  try {
    const settings = describeConfig(readConfig(process.env));
    if (json) printJson(settings);
    else printTable(settings.map(({ name, value, about }) => ({ setting: name, value, about })));
  } catch (error) {
    fail(error);
  }
}
