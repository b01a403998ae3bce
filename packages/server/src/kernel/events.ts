import { EVENTS, type FieldKind, type Severity } from "./event-catalogue.ts";

export type EventName = keyof typeof EVENTS;

interface Values {
  readonly string: string;
  readonly strings: readonly string[];
  readonly number: number;
  readonly error: unknown;
}

type ValueOf<Kind extends FieldKind> = Kind extends readonly (infer One)[]
  ? One
  : Kind extends `${infer Present extends keyof Values}?`
    ? Values[Present] | null
    : Kind extends keyof Values
      ? Values[Kind]
      : never;

type Fields = Readonly<Record<string, FieldKind>>;
type MayBeAbsent<F extends Fields> = { [Name in keyof F]: F[Name] extends `${string}?` ? Name : never }[keyof F];

type FieldsOf<F extends Fields> = [keyof F] extends [never]
  ? Readonly<Record<string, never>>
  : { readonly [Name in Exclude<keyof F, MayBeAbsent<F>>]: ValueOf<F[Name]> } & {
      readonly [Name in MayBeAbsent<F>]?: ValueOf<F[Name]>;
    };

/** The fields of an event, by the catalogue. */
type EventFields<Name extends EventName> = Name extends EventName ? FieldsOf<(typeof EVENTS)[Name]["fields"]> : never;

/** Emits an event of the catalogue, with its fields. The log and the metrics subscribe. */
export type EmitEvent = <Name extends EventName>(event: Name, fields: EventFields<Name>) => void;

type Subscriber = (event: EventName, fields: Readonly<Record<string, unknown>>, severity: Severity) => void;

export class Events {
  readonly #subscribers: Subscriber[] = [];

  readonly emit: EmitEvent = (event, fields) => {
    const { severity } = EVENTS[event];
    for (const subscriber of this.#subscribers) subscriber(event, fields, severity);
  };

  subscribe(subscriber: Subscriber): void {
    this.#subscribers.push(subscriber);
  }
}
