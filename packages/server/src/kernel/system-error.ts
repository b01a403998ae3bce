/** The code of a failed system call ("EACCES"), or "" for any other error. */
export const systemCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Why a system call was refused that would change something: no right to, or a file system that is read-only. */
export const isRefusal = (error: unknown): boolean => ["EACCES", "EPERM", "EROFS"].includes(systemCode(error));

/** The answer of `work`, or `instead` when it fails with the system's `code`. */
export async function unless<Result, Instead>(code: string, instead: Instead, work: Promise<Result>): Promise<Result | Instead> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === code) return instead;
    throw error;
  }
}

/** Whether `work` was done; false when it fails with the system's `code`. */
export async function doneUnless(code: string, work: Promise<unknown>): Promise<boolean> {
  const done = work.then(() => true);
  return await unless(code, false, done);
}
