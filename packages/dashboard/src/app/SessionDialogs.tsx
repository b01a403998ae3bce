import { Button, Group, PasswordInput, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { auth } from "../api/api.ts";
import { askPasskey } from "../api/passkey.ts";
import { ROOT, search } from "../api/request.ts";
import { type Session, usePerson, useSession } from "../api/session.ts";
import { Dialog } from "../ui/dialogs/Dialog.tsx";
import { ErrorState } from "../ui/ErrorState.tsx";
import { sessionGoesOn, useAsked } from "./dialogs.ts";

/** The dialogs about the session, over whatever page is open. */
export function SessionDialogs() {
  const asked = useAsked();
  if (asked?.kind === "ended") return <SessionEnded />;
  if (asked?.kind === "confirm") return <ConfirmAgain answer={asked.answer} />;
  return null;
}

/** The page stays as it is, with the typed text. It continues when the person has signed in in another tab. */
function SessionEnded() {
  const { href } = useLocation();
  const { id } = usePerson();
  const client = useQueryClient();
  useEffect(() => {
    const look = async () => {
      const session = document.hidden ? null : await auth.get<Session>("/session").catch(() => null);
      if (session?.person?.id !== id) return;
      sessionGoesOn();
      void client.invalidateQueries();
    };
    const onLook = () => void look();
    window.addEventListener("focus", onLook);
    document.addEventListener("visibilitychange", onLook);
    return () => {
      window.removeEventListener("focus", onLook);
      document.removeEventListener("visibilitychange", onLook);
    };
  }, [client, id]);
  const address = `${ROOT}sign-in${search({ next: href })}`;
  return (
    <Dialog onClose={() => {}} withCloseButton={false} closeOnEscape={false} closeOnClickOutside={false} title="Your session has ended">
      <p>Sign in again to continue. You will come back to this page. If you use a new tab, the text that you have typed here is kept.</p>
      <Group justify="flex-end">
        <Button component="a" href={address} target="_blank" rel="noopener">
          Sign in in a new tab
        </Button>
        <Button variant="filled" component="a" href={address} data-autofocus>
          Sign in
        </Button>
      </Group>
    </Dialog>
  );
}

/** Asks the person to confirm their identity before an action that gives access. The confirmation is valid for ten minutes. */
function ConfirmAgain({ answer }: { answer: (confirmed: boolean) => void }) {
  const { has_password: hasPassword, totp } = usePerson();
  const { sign_in: ways } = useSession();
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const confirm = async (proof: () => Promise<object>) => {
    setBusy(true);
    setError(null);
    try {
      await auth.post("/confirm", await proof());
      answer(true);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  const shared = {
    value: text,
    onChange: (event: { currentTarget: { value: string } }) => setText(event.currentTarget.value),
    required: true,
  };
  return (
    <Dialog onClose={() => answer(false)} title="Confirm that it is you">
      <form
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          void confirm(async () => (hasPassword ? { password: text } : { code: text }));
        }}
      >
        {hasPassword ? (
          <PasswordInput label="Your password" autoComplete="current-password" data-autofocus {...shared} />
        ) : totp ? (
          <TextInput label="The code of your authenticator" autoComplete="one-time-code" inputMode="numeric" data-autofocus {...shared} />
        ) : (
          <p>Sign out and sign in again: this needs a session that has just begun.</p>
        )}
        {error !== null && <ErrorState error={error} what="" title="Not confirmed" />}
        <Group justify="flex-end" mt="md">
          <Button onClick={() => answer(false)}>Cancel</Button>
          {ways.passkeys && (
            <Button onClick={() => void confirm(async () => ({ passkey: await askPasskey() }))} disabled={busy}>
              Use a passkey
            </Button>
          )}
          <Button type="submit" variant="filled" loading={busy} disabled={!hasPassword && !totp}>
            Confirm
          </Button>
        </Group>
      </form>
    </Dialog>
  );
}
