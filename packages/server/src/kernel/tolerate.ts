/** Runs work whose failure must not stop the caller; `record` keeps what went wrong. */
export async function tolerate(work: () => Promise<unknown>, record: (error: unknown) => void): Promise<void> {
  try {
    await work();
  } catch (error) {
    record(error);
  }
}
