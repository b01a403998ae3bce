import { auth } from "../../api/api.ts";
import { ROOT } from "../../api/request.ts";
import type { Session } from "../../api/session.ts";

/** The page that the person wanted, or the first one. The document is loaded again, so that nothing of another session is left. */
export function goOn(): void {
  const next = new URLSearchParams(globalThis.location.search).get("next") ?? "/";
  const below = next.startsWith(ROOT) ? next.slice(ROOT.length) : next.replace(/^\/+/, "");
  globalThis.location.assign(ROOT + below);
}

/**
 * After signing in. Fails if the browser does not send the session's cookie, instead of showing the sign-in page again without an
 * explanation.
 */
export async function goOnSignedIn(): Promise<void> {
  const { person } = await auth.get<Session>("/session");
  if (!person) {
    throw new Error(
      "You were signed in, but the browser does not keep the session. The operator must set TIDEMILL_PUBLIC_URL to the address by which " +
        "people open the dashboard. If that is set, open that address.",
    );
  }
  goOn();
}
