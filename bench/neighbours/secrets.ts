import { type Attacker, repeat } from "./attacker.ts";

const VALUE_LENGTH = 1_000;

const nameOf = (index: number) => `S_${index}`;

/** Creates secrets of the attacker. */
export const createSecrets = (attacker: Attacker, count: number): Promise<void> =>
  repeat(count, 8, (index) => {
    const value = `${index}-${crypto.randomUUID()}-`.padEnd(VALUE_LENGTH, `é"\\/${index}`);
    return attacker.must("POST", "/v1/secrets", { name: nameOf(index), value });
  });

/** A payload with `size` of the `count` secrets, another set for each `index`. */
export const payloadOfSecrets = (index: number, size: number, count: number): object => ({
  values: Array.from({ length: size }, (_, place) => `\${{ secrets.${nameOf((index + place) % count)} }}`),
});
