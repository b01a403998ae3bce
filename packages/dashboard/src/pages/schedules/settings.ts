import type { Schedule } from "@tidemill/contract";
import { RawJson, type Read } from "../../api/raw-json.ts";

/** The settings of a schedule as texts of a form. */
export interface ScheduleForm {
  readonly name: string;
  readonly queue: string;
  readonly cron: string;
  readonly timezone: string;
  readonly payload: string;
  readonly tag: string;
  readonly priority: string;
  readonly concurrencyKey: string;
  readonly attempts: string;
  readonly overlap: string;
  readonly catch_up: string;
}

export const newForm = (timezone: string): ScheduleForm => ({
  name: "",
  queue: "",
  cron: "0 9 * * 1-5",
  timezone,
  payload: "",
  tag: "",
  priority: "0",
  concurrencyKey: "",
  attempts: "",
  overlap: "allow",
  catch_up: "last",
});

export const formOf = ({
  name,
  queue,
  cron,
  timezone,
  payload,
  tag,
  priority,
  concurrencyKey,
  attempts,
  overlap,
  catch_up,
}: Read<Schedule>): ScheduleForm => ({
  name,
  queue,
  cron,
  timezone,
  payload: payload instanceof RawJson ? payload.text : "null",
  tag: tag ?? "",
  priority: String(priority),
  concurrencyKey: concurrencyKey ?? "",
  attempts: attempts === null ? "" : String(attempts),
  overlap,
  catch_up,
});

/** The settings of a form that differ from those of another, as the API takes them. */
export function changedSettings(form: ScheduleForm, before: ScheduleForm): Record<string, unknown> {
  const changed = (Object.keys(form) as (keyof ScheduleForm)[]).filter((name) => form[name] !== before[name]);
  return Object.fromEntries(changed.map((name) => [name, settingOf(name, form[name].trim())]));
}

function settingOf(name: keyof ScheduleForm, text: string): unknown {
  switch (name) {
    case "payload":
      return new RawJson(text === "" ? "null" : text);
    case "tag":
    case "concurrencyKey":
      return text === "" ? null : text;
    case "attempts":
      return text === "" ? null : Number(text);
    case "priority":
      return Number(text);
    default:
      return text;
  }
}
