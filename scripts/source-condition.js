// JavaScript, because npm runs this with the Node 20 of packages/sdk.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/**
 * `remove`, before a package is packed: takes the condition "source" out of its package.json. A package has no sources, and a program that
 * runs with `--conditions=source` would look for them there. `restore`, after it: puts the file back.
 */
const MANIFEST = "package.json";
const KEPT = "package.json.kept";

if (process.argv[2] === "restore") {
  renameSync(KEPT, MANIFEST);
} else {
  // A pack that was interrupted has left it.
  if (existsSync(KEPT)) renameSync(KEPT, MANIFEST);
  const text = readFileSync(MANIFEST, "utf8");
  writeFileSync(KEPT, text);
  const { exports, imports, ...rest } = JSON.parse(text);
  const published = { ...rest, exports: withoutSource(exports), imports: withoutSource(imports) };
  writeFileSync(MANIFEST, `${JSON.stringify(published, null, 2)}\n`);
}

/** @param {Record<string, string | Record<string, string>> | undefined} entries of `exports` or `imports` */
function withoutSource(entries) {
  if (entries === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(entries).map(([name, target]) => {
      if (typeof target === "string") return [name, target];
      const { source: _, ...published } = target;
      return [name, published];
    }),
  );
}
