import { Button } from "@mantine/core";
import { ROOT, search } from "../../api/request.ts";
import type { Session } from "../../api/session.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import classes from "./BareFrame.module.css";
import { goOn } from "./go-on.ts";
import { signInByPasskey } from "./passkey.ts";
import { useSubmit } from "./use-submit.ts";

/** Ways to sign in without a password, where the service has them. */
export function OtherWays({ ways }: { ways: Session["sign_in"] }) {
  const { busy, error, run } = useSubmit(async () => {
    await signInByPasskey();
    goOn();
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
