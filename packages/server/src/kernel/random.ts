import { randomBytes } from "node:crypto";

/** Chance, handed to what needs it. `fraction` is from 0 up to, not including, 1. */
export interface Random {
  bytes(length: number): Buffer;
  fraction(): number;
}

export const systemRandom: Random = { bytes: (length) => randomBytes(length), fraction: () => Math.random() };
