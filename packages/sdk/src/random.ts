/** A number from 0 to 1. */
export const chance = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;

/** Letters and digits that hardly come twice. */
export const randomName = (): string => Math.floor(chance() * 36 ** 6).toString(36);
