import { Button, TextInput } from "@mantine/core";
import type { Passkey } from "@tidemill/contract";
import { useState } from "react";
import { auth } from "../../api/api.ts";
import { ROOT } from "../../api/request.ts";
import { clearSent } from "../../ui/clear-sent.ts";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { notify } from "../../ui/notices.ts";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./account.module.css";
import { useOwn, useOwnChanged } from "./use-own.ts";

/** Passkeys of the person, and the identity provider with which they may sign in. */
export function PasskeysSection({ possible, oidc }: { possible: boolean; oidc: { name: string } | null }) {
  const { data, error: loadError, refetch } = useOwn<{ data: Passkey[] }>("/passkeys");
  const [name, setName] = useState("");
  const [removed, setRemoved] = useState<Passkey | null>(null);
  const changed = useOwnChanged();
  const { busy, error, onSubmit } = useSubmit(async () => {
    const { startRegistration } = await import("@simplewebauthn/browser");
    const optionsJSON = await auth.post<Parameters<typeof startRegistration>[0]["optionsJSON"]>("/passkeys/options");
    await auth.post("/passkeys", { name, response: await startRegistration({ optionsJSON }) });
    notify({ tone: "done", text: `The passkey ${name} is added` });
    setName(clearSent(name));
    await changed();
  });
  return (
    <Section title="Passkeys">
      <p className={classes.text}>A passkey signs you in without a password: with your fingerprint, your face or a security key.</p>
      {loadError ? (
        <ErrorState error={loadError} what="your passkeys" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="your passkeys" />
      ) : (
        <ul className={classes.list} aria-label="Passkeys">
          {data.data.map((passkey) => (
            <li key={passkey.id} className={classes.item}>
              <span>
                {passkey.name}{" "}
                <span className={classes.about}>
                  added <Time at={passkey.created_at} />, last used <Time at={passkey.last_used_at} />
                </span>
              </span>
              <Button size="compact-xs" aria-label={`Remove the passkey ${passkey.name}`} onClick={() => setRemoved(passkey)}>
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      {possible ? (
        <form className={classes.form} onSubmit={onSubmit}>
          <TextInput
            label="Name of the new passkey"
            placeholder="My laptop"
            maxLength={64}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            required
          />
          {error !== null && <ErrorState error={error} what="" title="Not added" />}
          <Button type="submit" loading={busy}>
            Add a passkey
          </Button>
        </form>
      ) : (
        <p className={classes.text}>
          Browsers create passkeys only on host names with TLS, and on localhost. This page has another address.
        </p>
      )}
      {oidc && (
        <p>
          <Button component="a" href={`${ROOT}auth/oidc/start?link=1`}>
            Also sign in with {oidc.name}
          </Button>
        </p>
      )}
      {removed && (
        <ConfirmDialog
          opened
          danger
          title={`Remove the passkey ${removed.name}?`}
          action="Remove"
          onClose={() => setRemoved(null)}
          onConfirm={async () => {
            await auth.delete(`/passkeys/${removed.id}`);
            await changed();
          }}
        >
          <p>You can no longer sign in with it.</p>
        </ConfirmDialog>
      )}
    </Section>
  );
}
