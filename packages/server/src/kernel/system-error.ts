/** The code of a failed system call ("EACCES"), or "" for any other error. */
export const systemCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Whether the system refused a change: missing permission, or a read-only file system. */
export const isRefusal = (error: unknown): boolean => ["EACCES", "EPERM", "EROFS"].includes(systemCode(error));

/** The result of `work`, or `instead` when it fails with this system error code. */
export async function unless<Result, Instead>(code: string, instead: Instead, work: Promise<Result>): Promise<Result | Instead> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === code) return instead;
    throw error;
  }
}

/** True when `work` succeeds, false when it fails with this system error code. */
export async function doneUnless(code: string, work: Promise<unknown>): Promise<boolean> {
  const done = work.then(() => true);
  return await unless(code, false, done);
}
