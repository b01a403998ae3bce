import type { SlicedWork } from "../shares/loop-time.ts";
import { NumberTable } from "./number-table.ts";
import type { Pauses } from "./pauses.ts";
import { areSorted, Names, sortByName, sortSynchronously } from "./sort-by-name.ts";

/** Columns of objects. An object ends with its last character. */
export const [START, END, NEXT, FIRST, COUNT] = [0, 1, 2, 3, 4];
/** Columns of members. */
export const [MEMBER_START, MEMBER_END, MEMBER_NEXT] = [0, 1, 2];

/** Stands for an open array. */
const ARRAY = -1;
/** An object with fewer members and characters is sorted synchronously. */
const [FEW_MEMBERS, FEW_CHARACTERS] = [16, 16 * 1024];

/**
 * The positions of the objects in a JSON text whose members are not in the order of their names, and of these members. All of it is stored
 * in tables of numbers. A payload may have 100,000 members: garbage collections would copy an object for each, which holds the event loop
 * for 20 ms.
 */
export class Outline {
  /**
   * The objects in the order in which they begin. NEXT is the first object that begins after this one; FIRST and COUNT say which rows of
   * `sorted` are its members. COUNT is 0 if these are already in the order of their names.
   */
  readonly objects = new NumberTable(5);
  /** The members in the order in which they begin. MEMBER_NEXT is the first object that begins in the member or after it. */
  readonly members = new NumberTable(3);
  /** Members of objects, sorted by name. */
  readonly sorted = new NumberTable(1);

  readonly #names: Names;
  readonly #open: number[] = [];
  /** The members of open objects. */
  readonly #openMembers = new NumberTable(1);
  /** For each open object, how many of them are not its own. */
  readonly #outerMembers: number[] = [];

  constructor(bytes: Uint8Array) {
    this.#names = new Names(bytes, this.members);
  }

  get isInObject(): boolean {
    const { length } = this.#open;
    return length > 0 && this.#open[length - 1] !== ARRAY;
  }

  beginArray(): void {
    this.#open.push(ARRAY);
  }

  endArray(): void {
    this.#open.pop();
  }

  beginObject(at: number): void {
    const object = this.objects.add();
    this.objects.set(object, START, at);
    this.objects.set(object, COUNT, 0);
    this.#open.push(object);
    this.#outerMembers.push(this.#openMembers.length);
  }

  beginMember(at: number): void {
    const member = this.members.add();
    this.members.set(member, MEMBER_START, at);
    this.members.set(member, MEMBER_NEXT, this.objects.length);
    this.#openMembers.push(member);
  }

  endMember(at: number): void {
    this.members.set(this.#openMembers.get(this.#openMembers.length - 1), MEMBER_END, at);
  }

  /** Ends the object whose last character is at `at`. Returns what is left to do, if it is large. */
  endObject(at: number, pauses: Pauses): SlicedWork<void> | null {
    const object = this.#open.pop() ?? 0;
    const outer = this.#outerMembers.pop() ?? 0;
    const members = this.#openMembers.from(outer);
    if (members.length > 0) this.endMember(at);
    this.#openMembers.length = outer;
    this.objects.set(object, END, at + 1);
    const isSmall = members.length < FEW_MEMBERS && at - this.objects.get(object, START) < FEW_CHARACTERS;
    if (!isSmall) return this.#sort(object, members, pauses);
    if (sortSynchronously(members, this.#names)) this.#keep(object, members);
    else this.#forget(object, members);
    return null;
  }

  *#sort(object: number, members: Uint32Array, pauses: Pauses): SlicedWork<void> {
    if (yield* areSorted(members, this.#names, pauses)) this.#forget(object, members);
    else this.#keep(object, yield* sortByName(members, this.#names, pauses));
  }

  #keep(object: number, members: Uint32Array): void {
    this.objects.set(object, NEXT, this.objects.length);
    this.objects.set(object, FIRST, this.sorted.length);
    this.objects.set(object, COUNT, members.length);
    for (let index = 0; index < members.length; index += 1) this.sorted.push(members[index] as number);
  }

  /**
   * Forgets an object that is written as it is. If it contains objects that are not, their numbers must stay as they are, and so must its
   * own.
   */
  #forget(object: number, members: Uint32Array): void {
    if (object < this.objects.length - 1) return;
    this.objects.length = object;
    if (members.length > 0) this.members.length = members[0] as number;
  }

  free(): void {
    for (const table of [this.objects, this.members, this.sorted, this.#openMembers]) table.free();
  }
}
