import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { replaceFile } from "../../files.ts";
import { unless } from "../../system-error.ts";
import { identifySelf, isAlive, type ProcessIdentity } from "./process.ts";

export type Role = "owner" | "guest";

/** One call of `startEmbeddedPostgres` that has not been stopped. */
export interface Member extends ProcessIdentity {
  readonly id: string;
  readonly as: Role;
}

/** Who uses the server of a data directory now. Read and written under the lock only. */
export interface Membership {
  readonly members: readonly Member[];
  /** A guest started the server and no owner has come since: the last guest turns it off. */
  readonly onlyForGuests: boolean;
}

export const newMember = async (as: Role): Promise<Member> => ({ id: randomUUID(), as, ...(await identifySelf()) });

/** The membership with `member` in it, who found a server or had to start one. */
export const joined = (before: Membership, member: Member, found: boolean): Membership => ({
  members: [...before.members, member],
  onlyForGuests: member.as === "guest" && (found ? before.onlyForGuests : true),
});

/**
 * The membership without `member`, and whether the server goes with it. It lives as long as an owner lives; the last owner
 * stops it, whoever else still uses it. One that a dead owner left running waits for the next owner: no guest stops it.
 */
export function left(before: Membership, member: Member): { after: Membership; stopsServer: boolean } {
  const members = before.members.filter(({ id }) => id !== member.id);
  const ownersRemain = members.some(({ as }) => as === "owner");
  const lastGuest = before.onlyForGuests && members.length === 0;
  return { after: { ...before, members }, stopsServer: !ownersRemain && (member.as === "owner" || lastGuest) };
}

/** Those of the file's members that still live. A file that is not there, or no JSON, has none. */
export async function readMembership(file: string): Promise<Membership> {
  const { members, onlyForGuests } = parse(await unless("ENOENT", "", readFile(file, "utf8")));
  const lives = await Promise.all(members.map(isAlive));
  return { members: members.filter((_, index) => lives[index]), onlyForGuests };
}

export const writeMembership = (file: string, membership: Membership): Promise<void> =>
  replaceFile(file, `${JSON.stringify(membership, null, 2)}\n`);

function parse(text: string): Membership {
  try {
    const { members, onlyForGuests } = JSON.parse(text) as Membership;
    return { members: [...members], onlyForGuests };
  } catch {
    return { members: [], onlyForGuests: false };
  }
}
