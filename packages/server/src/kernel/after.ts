/** Resolves after this many seconds. It does not keep the process alive. */
export const after = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000).unref());
