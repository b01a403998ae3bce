import { auth } from "./api.ts";

/** Asks the browser for a passkey of this service. Returns its response, which the service verifies. */
export async function askPasskey(): Promise<object> {
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const optionsJSON = await auth.post<Parameters<typeof startAuthentication>[0]["optionsJSON"]>("/passkeys/sign-in/options");
  return startAuthentication({ optionsJSON });
}
