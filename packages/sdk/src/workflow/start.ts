import type { PutWorkflow } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { checkNames } from "../check-names.ts";
import { givenText } from "../given-text.ts";
import { checkCron, checkTimezone } from "./check-cron.ts";

/** An event that starts runs. `Data` is what it carries, and the input of the runs. */
export interface EventDefinition<Data = unknown> {
  readonly kind: "event";
  readonly name: string;
  /** Exists only in types. */
  readonly types?: { readonly data: Data };
}

const NAME = /^[a-z0-9_]+(\.[a-z0-9_]+)*$/;

/**
 * Defines an event, with the type of its data.
 *
 * ```ts
 * const userCreated = event<{ userId: string }>("user.created");
 * const onboard = workflow({ id: "user.onboard", on: userCreated }, async ({ input }) => …);
 * await tidemill.events.send(userCreated, { userId: "u1" });
 * ```
 *
 * @param name lower-case letters, digits and underscores, in parts separated by dots
 * @throws {TypeError} for another name
 */
export function event<Data = unknown>(name: string): EventDefinition<Data> {
  return { kind: "event", name: checkedName(name) };
}

/** A schedule that starts runs, whose input is null. */
export interface CronSchedule {
  readonly kind: "cron";
  readonly expression: string;
  readonly timezone: string;
}

/**
 * Starts a run at each tick of a cron expression.
 *
 * @param expression five fields (minute, hour, day of month, month, day of week), six with seconds first, or `@hourly`, `@daily`, …
 * @param options.timezone IANA name of the time zone in which it is read, for example `Europe/Berlin`
 * @throws {TypeError} naming the field that is wrong
 */
export function cron(expression: string, options: { readonly timezone: string }): CronSchedule {
  checkCron(expression);
  checkNames("cron", options, { timezone: true });
  checkTimezone(options.timezone);
  return { kind: "cron", expression, timezone: options.timezone };
}

/** What starts runs of a workflow, other than a trigger. */
export type Start<Input = unknown> = EventDefinition<Input> | CronSchedule;

/** What starts runs of a workflow: one, or several, with at most one schedule. */
export type Starts<Input = unknown> = Start<Input> | readonly Start<Input>[];

/** The input of runs that are started in this way. */
export type StartInput<On> = On extends readonly (infer One)[]
  ? StartInput<One>
  : On extends CronSchedule
    ? null
    : On extends EventDefinition<infer Data>
      ? Data
      : never;

/** The name of an event, given as a string or as a definition. */
export const eventName = (given: string | EventDefinition): string => checkedName(typeof given === "string" ? given : given.name);

function checkedName(name: string): string {
  if (typeof name === "string" && NAME.test(name) && name.length <= LIMITS.eventNameLength) return name;
  const hint = String(name).includes("/") ? " Use dots instead of slashes." : "";
  const rule = "lower-case letters, digits and underscores, in parts separated by dots";
  throw new TypeError(`The name of an event must be ${rule}, not ${givenText(name)}.${hint}`);
}

/** What a workflow is registered with. */
type StartSettings = Pick<PutWorkflow, "events" | "cron" | "timezone">;

/**
 * As the service registers it.
 *
 * @throws {TypeError} for anything that does not start runs, for several schedules, and for an event that occurs twice
 */
export function startSettings(on: Starts | undefined): StartSettings {
  const starts = on === undefined ? [] : Array.isArray(on) ? (on as readonly Start[]) : [on as Start];
  for (const start of starts) checkStart(start);
  const events = starts.flatMap((start) => (start.kind === "event" ? [start.name] : []));
  const twice = events.find((name, at) => events.indexOf(name) < at);
  if (twice !== undefined) throw new TypeError(`on has the event ${JSON.stringify(twice)} more than once.`);
  if (events.length > LIMITS.workflowEvents) throw new TypeError(`on takes at most ${LIMITS.workflowEvents} events, not ${events.length}.`);
  const [schedule, ...others] = starts.filter((start) => start.kind === "cron");
  if (others.length > 0) throw new TypeError("on takes one cron schedule at most. Use a list in its fields, for example 0 9,17 * * *.");
  return {
    ...(events.length > 0 && { events }),
    ...(schedule && { cron: schedule.expression, timezone: schedule.timezone }),
  };
}

function checkStart(start: Start): void {
  if (start?.kind === "event") checkedName(start.name);
  else if (start?.kind !== "cron") {
    const example = typeof start === "string" && NAME.test(start) ? start : "user.created";
    throw new TypeError(`on takes event("${example}"), cron("0 9 * * *", { timezone }), or a list of these, not ${givenText(start)}.`);
  }
}
