import { describeUnknownSettings } from "@tidemill/server";
import { loadConfig } from "../operator/load-config.ts";
import { printRecords } from "../output/table.ts";
import { examine } from "./examine.ts";
import type { Finding } from "./findings.ts";

/** `tidemill doctor`: checks what a node needs to run here. The exit code is 1 when a check has failed. */
export async function doctor({ json }: { readonly json?: boolean }): Promise<void> {
  const unknown = describeUnknownSettings(process.env).map((message): Finding => ({ check: "settings", status: "warning", message }));
  const findings = [...unknown, ...(await examine(loadConfig()))];
  printRecords(findings, ["check", "status", "message"], json);
  if (findings.some(({ status }) => status === "failed")) process.exitCode = 1;
}
