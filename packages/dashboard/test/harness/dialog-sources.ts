import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const SOURCES = fileURLToPath(new URL("../../src", import.meta.url));
/** Those that stand over the page and take the focus. */
const OPENS =
  /<(Modal|Dialog|Drawer|Menu|Popover|Select|MultiSelect|Autocomplete|Combobox|ConfirmDialog|DiffDialog|InvitationDialog|SecretOnce)\b(?!\.)/g;

/** These count where they are used. */
const SHARED = [path.join("ui", "dialogs"), path.join("pages", "members", "InvitationDialog.tsx")];

/** How many dialogs, menus and pop-ups each source file has: `{ "pages/keys/KeysPage.tsx": 2 }`. */
export function dialogsInSources(): Record<string, number> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".tsx") && !SHARED.some((shared) => file.startsWith(shared)),
  );
  return Object.fromEntries(
    files
      .map((file) => [file.replaceAll(path.sep, "/"), [...readFileSync(path.join(SOURCES, file), "utf8").matchAll(OPENS)].length] as const)
      .filter(([, count]) => count > 0),
  );
}
