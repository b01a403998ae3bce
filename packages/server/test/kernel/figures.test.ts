import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { figures, writeFigures } from "../../../../scripts/figures.ts";
import { brokenReferences } from "../../../../scripts/page-links.ts";

describe("figures in prose", () => {
  const failures = { value: 1_000, in: { "page.md": ["after {} failures"] } };

  test("are replaced by what the code says, wherever the line breaks", () => {
    expect(writeFigures("page.md", "It opens after\n25 failures, or 30.", [failures])).toBe("It opens after\n1,000 failures, or 30.");
  });

  test("leave a page as it is that has the right ones", () => {
    expect(writeFigures("page.md", "after 1,000 failures", [failures])).toBe("after 1,000 failures");
    expect(writeFigures("other.md", "after 25 failures", [failures])).toBe("after 25 failures");
  });

  test("must be quoted by the page that is said to quote them", () => {
    expect(() => writeFigures("page.md", "after a few failures", [failures])).toThrow('page.md does not say "after {} failures" any more.');
  });

  test("are all found in the code", async () => {
    const all = await figures();
    expect(all.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
    expect(all.length).toBeGreaterThan(50);
  });
});

describe("a page", () => {
  const roots: string[] = [];
  afterEach(async () => {
    for (const root of roots.splice(0)) await rm(root, { recursive: true });
  });

  async function repository(page: string): Promise<string> {
    const root = await mkdtemp(path.join(tmpdir(), "tidemill-pages-"));
    roots.push(root);
    await mkdir(path.join(root, "packages/server/src/engine"), { recursive: true });
    await writeFile(path.join(root, "packages/server/src/engine/judge.ts"), "");
    await writeFile(path.join(root, "other.md"), "# Other\n\n## Where it is, and why\n");
    await writeFile(path.join(root, "page.md"), page);
    return root;
  }

  test("names files and headings that exist", async () => {
    const root = await repository(
      "# Page\n\n`engine/judge.ts`, [there](other.md#where-it-is-and-why), [here](#page), [away](https://example.com/a.md)\n",
    );
    expect(await brokenReferences(root, "page.md")).toEqual([]);
  });

  test("is refused with a file, a page or a heading that does not exist", async () => {
    const root = await repository("# Page\n\n`engine/gone.ts`, [there](gone.md), [that](other.md#gone)\n");
    expect(await brokenReferences(root, "page.md")).toEqual([
      "page.md names engine/gone.ts, which does not exist.",
      "page.md links to gone.md, which does not exist.",
      "page.md links to other.md#gone, and there is no such heading.",
    ]);
  });
});
