import { ROOT } from "../../api/request.ts";

/** The page that the person wanted, or the first one. The document is loaded anew, so that nothing of another session is left. */
export function goOn(): void {
  const next = new URLSearchParams(globalThis.location.search).get("next") ?? "/";
  const below = next.startsWith(ROOT) ? next.slice(ROOT.length) : next.replace(/^\/+/, "");
  globalThis.location.assign(ROOT + below);
}
