import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { auth } from "../../api/api.ts";
import { ROOT } from "../../api/request.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./BareFrame.module.css";
import { BareFrame } from "./BareFrame.tsx";

/** Requests a link to set a new password. */
export default function ResetPage() {
  return (
    <MailPage title="Set a new password" path="/reset" action="Send me a link">
      If somebody has an account with this address, a link to set a new password is on its way there.
    </MailPage>
  );
}

/** A page with one field, the mail address, to which something is sent. */
export function MailPage({ title, path, action, children }: { title: string; path: string; action: string; children: string }) {
  const [email, setEmail] = useState("");
  const [sent, setSent] = useState(false);
  const { busy, error, onSubmit } = useSubmit(async () => {
    await auth.post(path, { email });
    setSent(true);
  });
  return (
    <BareFrame title={title} foot={<a href={`${ROOT}sign-in`}>Back to sign-in</a>}>
      {sent ? (
        <p role="status">{children}</p>
      ) : (
        <form className={classes.fields} onSubmit={onSubmit}>
          <TextInput
            label="Mail address"
            type="email"
            name="email"
            autoComplete="email"
            value={email}
            onChange={({ currentTarget }) => setEmail(currentTarget.value)}
            required
            autoFocus
          />
          {error !== null && <ErrorState error={error} what="" title="Nothing was sent" />}
          <Button type="submit" variant="filled" loading={busy}>
            {action}
          </Button>
        </form>
      )}
    </BareFrame>
  );
}
