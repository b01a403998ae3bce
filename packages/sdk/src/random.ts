/** A number from 0 to 1. */
export const chance = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;

/** Random letters and digits, which are very unlikely to repeat. */
export const randomName = (): string => Math.floor(chance() * 36 ** 6).toString(36);
