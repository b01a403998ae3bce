/** An event that starts runs. `Data` is what it carries, and the input of the runs. */
export interface EventDefinition<Data = unknown> {
  readonly kind: "event";
  readonly name: string;
  /** Present in types alone. */
  readonly types?: { readonly data: Data };
}

const MAX_NAME = 128;
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

/** What starts runs of a workflow, besides a trigger. */
export type Start<Input = unknown> = EventDefinition<Input>;

/** What starts runs of a workflow: one, or several. */
export type Starts<Input = unknown> = Start<Input> | readonly Start<Input>[];

/** The input of runs that are started so. */
export type StartInput<On> = On extends readonly (infer One)[] ? StartInput<One> : On extends EventDefinition<infer Data> ? Data : never;

/** The name of an event, which was given as it is or as its definition. */
export const eventName = (given: string | EventDefinition): string => checkedName(typeof given === "string" ? given : given.name);

function checkedName(name: string): string {
  if (NAME.test(name) && name.length <= MAX_NAME) return name;
  const hint = name.includes("/") ? " Use dots in place of slashes." : "";
  const rule = "lower-case letters, digits and underscores, in parts separated by dots";
  throw new TypeError(`The name of an event must be ${rule}, not ${JSON.stringify(name)}.${hint}`);
}

/** As the service registers it. */
export function startSettings(on: Starts | undefined): { readonly events?: string[] } {
  const starts = on === undefined ? [] : Array.isArray(on) ? (on as readonly Start[]) : [on as Start];
  const events = starts.map(({ name }) => name);
  return events.length > 0 ? { events } : {};
}
