import { PAGES, type Page } from "../../src/app/pages.ts";

/** What stands for the names in pages' paths: `{ queue: "emails" }` for `$queue`. */
export type PageNames = Readonly<Record<string, string>>;

/** A page with its address, as `Dashboard.open` takes it. */
export interface PageAddress {
  readonly page: Page;
  readonly path: string;
}

/** The addresses of all pages of all areas. Fails for a page that is about something which the names do not have. */
export function everyPage(names: PageNames): PageAddress[] {
  return PAGES.map((page) => ({ page, path: addressOf(page, names) }));
}

function addressOf({ path }: Page, names: PageNames): string {
  const filled = path.replace(/\$(\w+)/g, (_whole, name: string) => {
    if (name === "workspace") return "$workspace";
    const value = names[name];
    if (value === undefined) throw new Error(`No name for $${name} in the path ${path}: packages/dashboard/test/seed gives them.`);
    return encodeURIComponent(value);
  });
  return filled.startsWith("w/$workspace/") ? filled.slice("w/$workspace/".length) : `/${filled}`;
}
