/** Runs work that is allowed to fail. On failure, passes the error to `record` and returns. */
export async function tolerate(work: () => Promise<unknown>, record: (error: unknown) => void): Promise<void> {
  try {
    await work();
  } catch (error) {
    record(error);
  }
}
