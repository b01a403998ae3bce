/** Anything may have been thrown, even what throws when it is read. */
export function causeOf(error: Error): unknown {
  try {
    return error.cause;
  } catch {
    return undefined;
  }
}

/** An error and its causes. */
export function* causesOf(error: unknown): Generator<Error> {
  const seen = new Set<unknown>();
  for (let one = error; one instanceof Error && !seen.has(one); one = causeOf(one)) {
    yield one;
    seen.add(one);
  }
}
