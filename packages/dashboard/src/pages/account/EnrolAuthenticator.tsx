import { Button, Group, TextInput } from "@mantine/core";
import type { EnabledTotp, PendingTotp } from "@tidemill/contract";
import { useState } from "react";
import { encode } from "uqr";
import { auth } from "../../api/api.ts";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./account.module.css";

interface EnrolProps {
  readonly pending: PendingTotp;
  readonly onEnabled: (enabled: EnabledTotp) => Promise<unknown>;
  readonly onCancel: () => void;
}

/** Shows the secret to scan or to type, and asks for a first code. */
export function EnrolAuthenticator({ pending, onEnabled, onCancel }: EnrolProps) {
  const [code, setCode] = useState("");
  const { busy, error, onSubmit } = useSubmit(async () => {
    await onEnabled(await auth.post<EnabledTotp>("/totp/enable", { code }));
  });
  return (
    <form className={classes.form} onSubmit={onSubmit}>
      <div>
        <p className={classes.text}>Scan this with your authenticator app, or type the secret.</p>
        <QrCode text={pending.uri} />
        <code>{pending.secret}</code> <CopyButton text={pending.secret} label="Copy the secret" />
      </div>
      <TextInput
        label="Code that the app shows"
        autoComplete="one-time-code"
        inputMode="numeric"
        value={code}
        onChange={({ currentTarget }) => setCode(currentTarget.value)}
        required
        autoFocus
      />
      {error !== null && <ErrorState error={error} what="" title="Not turned on" />}
      <Group>
        <Button type="submit" variant="filled" loading={busy}>
          Turn on
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </Group>
    </form>
  );
}

function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg className={classes.qr} viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the secret" shapeRendering="crispEdges">
      <path d={path} fill="#000" />
    </svg>
  );
}
