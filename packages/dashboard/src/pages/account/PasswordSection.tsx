import { Button, PasswordInput } from "@mantine/core";
import { useState } from "react";
import { auth } from "../../api/api.ts";
import { clearSent } from "../../ui/clear-sent.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { notify } from "../../ui/notices.ts";
import { Section } from "../../ui/Section.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./account.module.css";
import { useOwnChanged } from "./use-own.ts";

/** Changes the password, or gives the person one. */
export function PasswordSection({ hasPassword }: { hasPassword: boolean }) {
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const changed = useOwnChanged();
  const { busy, error, onSubmit } = useSubmit(async () => {
    await auth.post("/password", { ...(hasPassword && { password: old }), new_password: next });
    setOld(clearSent(old));
    setNext(clearSent(next));
    notify({ tone: "done", text: "Your password is changed. All other sessions have ended" });
    await changed();
  });
  return (
    <Section title="Password">
      <form className={classes.form} onSubmit={onSubmit}>
        {hasPassword && (
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            value={old}
            onChange={({ currentTarget }) => setOld(currentTarget.value)}
            required
          />
        )}
        <PasswordInput
          label="New password"
          description="At least 10 characters."
          autoComplete="new-password"
          minLength={10}
          maxLength={256}
          value={next}
          onChange={({ currentTarget }) => setNext(currentTarget.value)}
          required
        />
        {error !== null && <ErrorState error={error} what="" title="Not changed" />}
        <Button type="submit" loading={busy}>
          Change the password
        </Button>
      </form>
    </Section>
  );
}
