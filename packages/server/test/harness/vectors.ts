import { readFileSync } from "node:fs";

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
}

/** Reads the contract's test vectors, which are meant for every implementation of the protocol. */
export const readVectors = <Name extends keyof Vectors>(name: Name): Vectors[Name] =>
  JSON.parse(readFileSync(new URL(`../../../contract/vectors/${name}.json`, import.meta.url), "utf8")) as Vectors[Name];
