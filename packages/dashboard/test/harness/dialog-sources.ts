import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const SOURCES = fileURLToPath(new URL("../../src", import.meta.url));
/** Those that stand over the page and take the focus. */
const OPENS = /<(Modal|Dialog|Drawer|Menu|Popover|Select|MultiSelect|Autocomplete|Combobox|ConfirmDialog|DiffDialog|SecretOnce)\b(?!\.)/g;

/** How many dialogs, menus and pop-ups each source file has: `{ "pages/keys/KeysPage.tsx": 2 }`. Those of `ui/dialogs` count where they are used. */
export function dialogsInSources(): Record<string, number> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".tsx") && !file.startsWith(path.join("ui", "dialogs")),
  );
  return Object.fromEntries(
    files
      .map((file) => [file.replaceAll(path.sep, "/"), [...readFileSync(path.join(SOURCES, file), "utf8").matchAll(OPENS)].length] as const)
      .filter(([, count]) => count > 0),
  );
}
