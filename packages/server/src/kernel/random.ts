import { randomBytes } from "node:crypto";

/** A source of randomness, which code gets as an argument. `fraction` returns a number from 0 up to, but not including, 1. */
export interface Random {
  bytes(length: number): Buffer;
  fraction(): number;
}

export const systemRandom: Random = { bytes: (length) => randomBytes(length), fraction: () => Math.random() };
