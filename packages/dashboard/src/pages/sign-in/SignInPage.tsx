import { Alert, Button, PasswordInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { auth } from "../../api/api.ts";
import { ApiError } from "../../api/api-error.ts";
import { ROOT } from "../../api/request.ts";
import { sessionQuery } from "../../api/session.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./BareFrame.module.css";
import { BareFrame } from "./BareFrame.tsx";
import { goOn, goOnSignedIn } from "./go-on.ts";
import { OtherWays } from "./OtherWays.tsx";

/** Why the identity provider's response did not sign somebody in. */
const REFUSALS: Readonly<Record<string, string>> = {
  no_access: "Your groups there give you no access here. Ask an administrator.",
  no_email: "It did not provide your mail address, which an account needs.",
  email_taken: "Somebody has an account with your mail address. If it is yours, sign in to it, and add the provider on its account page.",
  linked_elsewhere: "That account belongs to another person here, or you signed out meanwhile.",
  expired: "That took too long, or began in another browser. Try again.",
  refused: "Its response was not accepted. Try again.",
};

export default function SignInPage() {
  const { data: session, error: sessionError, refetch } = useQuery(sessionQuery);
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState<string | null>(null);
  const { busy, error, onSubmit } = useSubmit(async () => {
    try {
      await auth.post("/sign-in", { email, password, ...(code && { code: code.trim() }) });
    } catch (problem) {
      if (!(problem instanceof ApiError && problem.details.code_required === true && code === null)) throw problem;
      setCode("");
      return;
    }
    await goOnSignedIn();
  });
  const refusal = REFUSALS[new URLSearchParams(globalThis.location.search).get("refused") ?? ""];
  const isSignedIn = session?.person != null;
  useEffect(() => {
    if (isSignedIn) goOn();
  }, [isSignedIn]);
  if (sessionError && !session) {
    return (
      <BareFrame title="Sign in">
        <ErrorState error={sessionError} what="how to sign in" onRetry={refetch} />
      </BareFrame>
    );
  }
  if (!session || isSignedIn) return <LoadingState />;
  const { sign_in: ways } = session;
  return (
    <BareFrame
      title="Sign in"
      foot={
        <>
          {ways.mail && (
            <p>
              <a href={`${ROOT}reset`}>Forgot your password?</a>
            </p>
          )}
          {ways.sign_up === "open" && (
            <p>
              No account yet? <a href={`${ROOT}sign-up`}>Sign up</a>
            </p>
          )}
        </>
      }
    >
      {refusal && (
        <Alert color="red" variant="light" role="alert" mb="md" title={`Not signed in with ${ways.oidc?.name ?? "the identity provider"}`}>
          {refusal}
        </Alert>
      )}
      <form className={classes.fields} onSubmit={onSubmit}>
        {code === null ? (
          <>
            <TextInput
              label="Mail address"
              type="email"
              name="email"
              autoComplete="username"
              value={email}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
              required
              autoFocus
            />
            <PasswordInput
              label="Password"
              name="password"
              autoComplete="current-password"
              value={password}
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
              required
            />
          </>
        ) : (
          <TextInput
            label="Code"
            description="From your authenticator app, or one of your recovery codes."
            name="code"
            autoComplete="one-time-code"
            value={code}
            onChange={({ currentTarget }) => setCode(currentTarget.value)}
            required
            autoFocus
          />
        )}
        {error !== null && <ErrorState error={error} what="" title="Not signed in" />}
        <Button type="submit" variant="filled" loading={busy}>
          Sign in
        </Button>
      </form>
      {code === null && <OtherWays ways={ways} />}
    </BareFrame>
  );
}
