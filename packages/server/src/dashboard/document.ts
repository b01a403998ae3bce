/** Where the built document has the nonce of its styles (`packages/dashboard/vite.config.ts`). */
const NONCE = /TIDEMILL_NONCE/g;
/** Addresses of files, which the build makes relative to the document. */
const FILES = /(src|href)="\.\/assets\//g;

/** No page has a deeper path. */
const MAX_DEPTH = 8;

/**
 * The way from a page back to `/dashboard/`: `./` for `/dashboard/`, `../../` for `/dashboard/w/ws_…/`. It is right whatever prefix a proxy
 * has removed from the path. Null if the path is deeper than any page.
 */
export function wayToRoot(url: string): string | null {
  const [path = ""] = url.split("?");
  const depth = path.split("/").length - 3;
  return depth > MAX_DEPTH ? null : depth <= 0 ? "./" : "../".repeat(depth);
}

/** The document for a page. */
export const renderDocument = (document: string, { nonce, root }: { nonce: string; root: string }): string =>
  document.replace(NONCE, nonce).replace(FILES, (_match, attribute: string) => `${attribute}="${root}assets/`);
