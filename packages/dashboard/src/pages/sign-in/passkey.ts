import { auth } from "../../api/api.ts";

/** Signs in by a passkey that the browser knows. */
export async function signInByPasskey(): Promise<void> {
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const optionsJSON = await auth.post<Parameters<typeof startAuthentication>[0]["optionsJSON"]>("/passkeys/sign-in/options");
  await auth.post("/passkeys/sign-in", { response: await startAuthentication({ optionsJSON }) });
}
