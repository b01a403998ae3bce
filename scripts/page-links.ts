import { access, readFile } from "node:fs/promises";
import path from "node:path";

/** A source file in the text of a page: `engine/judge.ts` is one of the server, `scripts/figures.ts` one of the repository, `harness/clock.ts` a test's. */
const NAMED = /`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|sql|jsonc))`/g;

/** A link within the repository, and the part of the page that it leads to. */
const LINK = /\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g;

const FOUND_IN = ["", "packages/server/src/", "packages/server/", "packages/server/test/"];

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** The anchors of a page, made from its headings as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** Source files that a page names and that do not exist, and links that lead nowhere. */
export async function brokenReferences(root: string, page: string): Promise<string[]> {
  const text = await readFile(path.join(root, page), "utf8");
  const broken: string[] = [];
  for (const [, name = ""] of text.matchAll(NAMED)) {
    const found = await Promise.all(FOUND_IN.map((folder) => exists(path.join(root, folder, name))));
    if (!found.includes(true)) broken.push(`${page} names ${name}, which does not exist.`);
  }
  for (const [, link = "", anchor] of text.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(LINK)) {
    const target = link === "" ? path.join(root, page) : path.resolve(root, path.dirname(page), link);
    if (!(await exists(target))) broken.push(`${page} links to ${link}, which does not exist.`);
    else if (anchor !== undefined && target.endsWith(".md") && !anchorsOf(await readFile(target, "utf8")).has(anchor))
      broken.push(`${page} links to ${link}#${anchor}, and there is no such heading.`);
  }
  return broken;
}
