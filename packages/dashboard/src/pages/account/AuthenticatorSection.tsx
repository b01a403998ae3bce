import { Button } from "@mantine/core";
import type { EnabledTotp, PendingTotp } from "@tidemill/contract";
import { useState } from "react";
import { auth } from "../../api/api.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { notify } from "../../ui/notices.ts";
import { Section } from "../../ui/Section.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./account.module.css";
import { EnrolAuthenticator } from "./EnrolAuthenticator.tsx";
import { RecoveryCodes } from "./RecoveryCodes.tsx";
import { useOwnChanged } from "./use-own.ts";

/** Codes of an authenticator app, a second factor in addition to the password. */
export function AuthenticatorSection({ on, hasPassword }: { on: boolean; hasPassword: boolean }) {
  const [pending, setPending] = useState<PendingTotp | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [isTurningOff, setTurningOff] = useState(false);
  const changed = useOwnChanged();
  const begin = useSubmit(async () => setPending(await auth.post<PendingTotp>("/totp")));
  const renew = useSubmit(async () => setCodes((await auth.post<EnabledTotp>("/totp/recovery-codes")).recovery_codes));
  const error = begin.error ?? renew.error;
  const enabled = async ({ recovery_codes }: EnabledTotp) => {
    setPending(null);
    setCodes(recovery_codes);
    await changed();
  };
  return (
    <Section title="Authenticator">
      <p className={classes.text}>
        {on
          ? "To sign in with your password, you also need a code of your authenticator app."
          : "With an authenticator app, your password alone is not enough to sign in."}
      </p>
      {error !== null && <ErrorState error={error} what="" title="Not done" />}
      {codes && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
      {on ? (
        <>
          <Button onClick={() => void renew.run()} loading={renew.busy}>
            New recovery codes
          </Button>{" "}
          <Button onClick={() => setTurningOff(true)}>Turn off</Button>
        </>
      ) : pending ? (
        <EnrolAuthenticator pending={pending} onEnabled={enabled} onCancel={() => setPending(null)} />
      ) : (
        <Button onClick={() => void begin.run()} loading={begin.busy} disabled={!hasPassword}>
          Set up an authenticator
        </Button>
      )}
      {isTurningOff && (
        <ConfirmDialog
          opened
          danger
          title="Turn off the authenticator?"
          action="Turn off"
          onClose={() => setTurningOff(false)}
          onConfirm={async () => {
            await auth.delete("/totp");
            notify({ tone: "done", text: "The authenticator is off" });
            await changed();
          }}
        >
          <p>Your password alone is then enough to sign in.</p>
        </ConfirmDialog>
      )}
    </Section>
  );
}
