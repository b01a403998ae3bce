import { Button } from "@mantine/core";
import { auth } from "../../api/api.ts";
import { askPasskey } from "../../api/passkey.ts";
import { ROOT, search } from "../../api/request.ts";
import type { Session } from "../../api/session.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./BareFrame.module.css";
import { goOnSignedIn } from "./go-on.ts";

/** Ways to sign in without a password, where the service has them. */
export function OtherWays({ ways }: { ways: Session["sign_in"] }) {
  const { busy, error, run } = useSubmit(async () => {
    await auth.post("/passkeys/sign-in", { response: await askPasskey() });
    await goOnSignedIn();
  });
  if (!ways.passkeys && !ways.oidc) return null;
  const next = new URLSearchParams(globalThis.location.search).get("next");
  return (
    <div className={classes.other}>
      {ways.passkeys && (
        <Button onClick={() => void run()} loading={busy}>
          Sign in with a passkey
        </Button>
      )}
      {error !== null && <ErrorState error={error} what="" title="Not signed in" />}
      {ways.oidc && (
        <Button component="a" href={`${ROOT}auth/oidc/start${search({ next })}`}>
          Sign in with {ways.oidc.name}
        </Button>
      )}
    </div>
  );
}
