import { readFileSync } from "node:fs";

/** A call of a conversation, with the names `${run}` that earlier calls have kept. */
export interface CallVector {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  /** Part of the body of the response. */
  readonly response?: unknown;
  /** By name, a JSON Pointer to a value of the response. */
  readonly keep?: Readonly<Record<string, string>>;
}

interface Vectors {
  readonly signatures: {
    readonly tolerance_seconds: number;
    readonly sign: readonly {
      readonly name: string;
      readonly secret: string;
      readonly id: string;
      readonly timestamp: number;
      readonly body: string;
      readonly signature: string;
    }[];
    readonly verify: readonly {
      readonly name: string;
      readonly secrets: readonly string[];
      readonly now: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly valid: boolean;
    }[];
  };
  readonly ids: {
    readonly valid: readonly { readonly name: string; readonly prefix: string; readonly uuid: string; readonly id: string }[];
    readonly invalid: readonly { readonly name: string; readonly prefix: string; readonly id: string }[];
  };
  readonly templates: {
    readonly valid: readonly { readonly name: string; readonly text: string; readonly parts: readonly (string | { secret: string })[] }[];
    readonly invalid: readonly { readonly name: string; readonly text: string; readonly error: string }[];
  };
  readonly "run-protocol": {
    readonly calls: readonly { readonly call: string; readonly request: string | null; readonly response: string }[];
    readonly messages: readonly { readonly name: string; readonly schema: string; readonly value: unknown; readonly valid: boolean }[];
    readonly conversations: readonly {
      readonly name: string;
      readonly calls: readonly (CallVector | { readonly advanceSeconds: number })[];
    }[];
  };
}

/** Reads the contract's test vectors, which are meant for every implementation of the protocol. */
export const readVectors = <Name extends keyof Vectors>(name: Name): Vectors[Name] =>
  JSON.parse(readFileSync(new URL(`../../../contract/vectors/${name}.json`, import.meta.url), "utf8")) as Vectors[Name];
