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

/** The users of the server of a data directory. Read and write it only under the lock. */
export interface Membership {
  readonly members: readonly Member[];
  /** A guest started the server, and no owner has joined since. Then the last guest stops it. */
  readonly onlyForGuests: boolean;
}

export const newMember = async (as: Role): Promise<Member> => ({ id: randomUUID(), as, ...(await identifySelf()) });

/** The membership after `member` joined. @param found whether it found a running server or had to start one */
export const joined = (before: Membership, member: Member, found: boolean): Membership => ({
  members: [...before.members, member],
  onlyForGuests: member.as === "guest" && (found ? before.onlyForGuests : true),
});

/**
 * The membership after `member` left, and whether the server stops. The last owner stops it, even if guests still use it. If an owner
 * died and left it running, it keeps running for the next owner: no guest stops it.
 */
export function left(before: Membership, member: Member): { after: Membership; stopsServer: boolean } {
  const members = before.members.filter(({ id }) => id !== member.id);
  const ownersRemain = members.some(({ as }) => as === "owner");
  const lastGuest = before.onlyForGuests && members.length === 0;
  return { after: { ...before, members }, stopsServer: !ownersRemain && (member.as === "owner" || lastGuest) };
}

/** Reads the members in the file that are still alive. A file that is missing or not JSON has none. */
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
