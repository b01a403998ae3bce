/** A number from 0 up to, but not including, 1. It spreads actions that many tabs would otherwise do at the same time. */
export const chance = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;
