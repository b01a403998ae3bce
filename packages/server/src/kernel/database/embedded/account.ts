import { readFile } from "node:fs/promises";
import { unless } from "../../system-error.ts";
import { EmbeddedPostgresError } from "./error.ts";

/** A system account as which PostgreSQL runs. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Usual service accounts, best first. */
const UNPRIVILEGED = ["postgres", "_postgres", "nobody", "daemon"];

export const readAccounts = async (): Promise<Account[]> => parseAccounts(await unless("ENOENT", "", readFile("/etc/passwd", "utf8")));

export const parseAccounts = (passwd: string): Account[] =>
  passwd
    .split("\n")
    .map((line) => line.split(":"))
    .filter((fields) => fields.length >= 7)
    .map(([name = "", , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));

/** @throws {EmbeddedPostgresError} NO_UNPRIVILEGED_USER */
export function chooseUnprivileged(accounts: readonly Account[]): Account {
  for (const name of UNPRIVILEGED) {
    const account = accounts.find((one) => one.name === name && one.uid !== 0);
    if (account) return account;
  }
  throw new EmbeddedPostgresError(
    "NO_UNPRIVILEGED_USER",
    `PostgreSQL cannot run as root, and /etc/passwd has none of the users ${UNPRIVILEGED.join(", ")}. Start Tidemill as an ordinary user.`,
  );
}
