/** Seconds since 1970, by the clock of this machine. */
export const nowSeconds = (): number => Date.now() / 1000;
