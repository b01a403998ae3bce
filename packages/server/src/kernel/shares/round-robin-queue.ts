import type { WorkspaceId } from "../ids.ts";

interface OfWorkspace {
  readonly workspaceId: WorkspaceId;
}

/**
 * A line in which workspaces take turns, and within each workspace its members. Many members of one workspace do not delay another
 * workspace.
 */
export class RoundRobinQueue<Member extends OfWorkspace> {
  readonly #members = new Map<WorkspaceId, Set<Member>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(member: Member): boolean {
    return this.#members.get(member.workspaceId)?.has(member) ?? false;
  }

  hasWorkspace(workspaceId: WorkspaceId): boolean {
    return this.#members.has(workspaceId);
  }

  /** Adds a member to the end of its workspace's line, unless it is in line. */
  add(member: Member): void {
    const members = this.#members.get(member.workspaceId);
    if (members?.has(member)) return;
    if (members) members.add(member);
    else this.#members.set(member.workspaceId, new Set([member]));
    this.#size += 1;
  }

  delete(member: Member): void {
    const members = this.#members.get(member.workspaceId);
    if (!members?.delete(member)) return;
    this.#size -= 1;
    if (members.size === 0) this.#members.delete(member.workspaceId);
  }

  /** The member had its turn: it goes to the end of its workspace's line, and the workspace goes to the end, too. */
  moveBack(member: Member): void {
    const members = this.#members.get(member.workspaceId);
    if (!members?.delete(member)) return;
    members.add(member);
    this.moveWorkspaceBack(member.workspaceId);
  }

  /** The workspace had its turn: it goes to the end. Its members keep their order. */
  moveWorkspaceBack(workspaceId: WorkspaceId): void {
    const members = this.#members.get(workspaceId);
    if (!members) return;
    this.#members.delete(workspaceId);
    this.#members.set(workspaceId, members);
  }

  /** The member had its turn and leaves. Its workspace goes to the end. */
  finish(member: Member): void {
    this.delete(member);
    this.moveWorkspaceBack(member.workspaceId);
  }

  /** Takes this many members out of the line, or all, in the order of their turns. Each counts as having had its turn (`finish`). */
  take(count: number): Member[] {
    const taken: Member[] = [];
    for (const member of this.inTurns()) if (taken.push(member) >= count) break;
    for (const member of taken) this.finish(member);
    return taken;
  }

  /** The first member of each workspace, in the order of their turns. */
  *firstOfEach(): Generator<Member> {
    for (const members of this.#members.values()) {
      for (const first of members) {
        yield first;
        break;
      }
    }
  }

  /**
   * Members in the order of their turns: the first of each workspace, then the second of each, and so on.
   *
   * @param skips whether to leave out the members of a workspace that have not had their turn yet
   */
  *inTurns(skips: (workspaceId: WorkspaceId) => boolean = () => false): Generator<Member> {
    const [only] = this.#members;
    if (only && this.#members.size === 1) {
      const [workspaceId, members] = only;
      for (const member of members) {
        if (skips(workspaceId)) return;
        yield member;
      }
      return;
    }
    let waiting: Iterable<readonly [WorkspaceId, Iterator<Member>]> = this.#iterators();
    for (let size = 1; size > 0; ) {
      const more: [WorkspaceId, Iterator<Member>][] = [];
      for (const [workspaceId, rest] of waiting) {
        if (skips(workspaceId)) continue;
        const { value, done } = rest.next();
        if (done) continue;
        yield value;
        more.push([workspaceId, rest]);
      }
      waiting = more;
      size = more.length;
    }
  }

  *#iterators(): Generator<readonly [WorkspaceId, Iterator<Member>]> {
    for (const [workspaceId, members] of this.#members) yield [workspaceId, members.values()];
  }
}
