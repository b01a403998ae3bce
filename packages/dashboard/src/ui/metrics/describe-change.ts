import type { Change } from "@tidemill/contract";
import { toMs } from "../../time/clock.ts";
import type { ChartMark } from "../chart/chart-props.ts";

/** A change in words, short enough for a chart. */
export function describeChange({ type, name, version, settings }: Change): string {
  if (type === "deploy") return `${name} ${version ?? ""}`.trim();
  if (type === "circuit.opened") return `${name}: circuit opened`;
  if (type === "circuit.closed") return `${name}: circuit closed`;
  const [what = "", verb = ""] = type.split(".");
  if (verb === "updated" && settings.length > 0) return `${name}: ${settings.join(", ")}`;
  return what === "queue" ? `${name}: ${verb}` : `${what} ${name}: ${verb}`;
}

const colorOf = ({ type }: Change): string => {
  if (type === "circuit.opened") return "--bad";
  if (type.endsWith("paused")) return "--warn";
  return type === "deploy" ? "--accent" : "--text-2";
};

export const markOf = (change: Change): ChartMark => ({ atMs: toMs(change.at), text: describeChange(change), color: colorOf(change) });
