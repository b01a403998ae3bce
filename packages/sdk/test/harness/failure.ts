/** What a call rejects with. Throws if it resolves. */
export async function failureOf(call: PromiseLike<unknown>): Promise<Error & Record<string, unknown>> {
  const kept = await Promise.resolve(call).then(
    () => null,
    (error: unknown) => error as Error & Record<string, unknown>,
  );
  if (kept === null) throw new Error("The call did not fail.");
  return kept;
}
