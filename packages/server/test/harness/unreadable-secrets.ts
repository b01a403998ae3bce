import type { Service } from "./service.ts";

/** Secrets cannot be read while it goes on. */
export async function whileUnreadable<Result>({ database }: Pick<Service, "database">, work: () => Promise<Result>): Promise<Result> {
  await database.query("alter table secret rename to secret_away");
  try {
    return await work();
  } finally {
    await database.query("alter table secret_away rename to secret");
  }
}
