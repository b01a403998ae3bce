import { expect, test } from "vitest";
import { countNew, mergePages, type Page } from "../../src/api/merge-pages.ts";

interface One {
  readonly id: string;
  readonly v: number;
}

const idOf = ({ id }: One) => id;
const page = (ids: string, v: number, next: string | null = "more"): Page<One> => ({
  data: [...ids].map((id) => ({ id, v })),
  next_cursor: next,
});
const shown = (loaded: Page<One>[], fresh: Map<number, Page<One>> = new Map()) =>
  Array.from(mergePages(loaded, fresh, idOf), ({ id, record, gone }) => `${id}${record.v}${gone ? "-" : ""}`).join(" ");

test("a newer version of a page changes its rows in place", () => {
  expect(shown([page("abc", 1), page("def", 1)], new Map([[0, page("abc", 2)]]))).toBe("a2 b2 c2 d1 e1 f1");
});

test("new records do not move rows; they are counted", () => {
  const loaded = [page("abc", 1), page("def", 1)];
  const fresh = page("xya", 2);
  expect(shown(loaded, new Map([[0, fresh]]))).toBe("a2 b1 c1 d1 e1 f1");
  expect(countNew(mergePages(loaded, new Map([[0, fresh]]), idOf), fresh, idOf)).toBe(2);
});

test("a record that the newer page leaves out is gone", () => {
  expect(shown([page("abc", 1)], new Map([[0, page("ac", 2, null)]]))).toBe("a2 b1- c2");
  expect(shown([page("abc", 1), page("def", 1, null)], new Map([[1, page("d", 2, null)]]))).toBe("a1 b1 c1 d2 e1- f1-");
  expect(shown([page("abc", 1, null)], new Map([[0, page("", 2, null)]]))).toBe("a1- b1- c1-");
});

test("a record that comes again on a later page is left out there, also after the list was loaded anew", () => {
  const first = page("abc", 1);
  expect(shown([first, page("cde", 1)])).toBe("a1 b1 c1 d1 e1");
  expect(shown([first])).toBe("a1 b1 c1");
  expect(shown([first, page("ef", 2)])).toBe("a1 b1 c1 e2 f2");
});

test("a row is found by its place, and its page", () => {
  const rows = mergePages([page("abc", 1), page("", 1), page("c", 1), page("de", 1)], new Map(), idOf);
  const places = [-1, 0, 2, 3, 4, 5];
  expect(places.map((place) => rows.at(place)?.id)).toEqual([undefined, "a", "c", "d", "e", undefined]);
  expect([0, 2, 3, 4].map((place) => rows.pageOf(place))).toEqual([0, 0, 3, 3]);
  expect([rows.length, rows.has("d"), rows.has("x")]).toEqual([5, true, false]);
});
