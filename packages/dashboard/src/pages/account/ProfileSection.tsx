import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { auth } from "../../api/api.ts";
import { pickChanges } from "../../api/pick-changes.ts";
import type { Person } from "../../api/session.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { notify } from "../../ui/notices.ts";
import { Section } from "../../ui/Section.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./account.module.css";
import { useOwnChanged } from "./use-own.ts";

/** The person's name and mail address. */
export function ProfileSection({ person, mail }: { person: Person; mail: boolean }) {
  // A field in which nobody has typed shows the stored value, and is not sent: a change made elsewhere meanwhile stays.
  const [typed, setTyped] = useState<{ readonly name?: string; readonly email?: string }>({});
  const { name = person.name, email = person.email } = typed;
  const changed = useOwnChanged();
  const newEmail = email.trim().toLowerCase() !== person.email;
  const { busy, error, onSubmit } = useSubmit(async () => {
    await auth.patch("/profile", { ...(name !== person.name && { name }), ...(newEmail && { email: email.trim() }) });
    notify({
      tone: "done",
      text: newEmail && mail ? `Open the link that is on its way to ${email.trim()} to change the address` : "Your profile is changed",
    });
    await changed();
    // What is typed while the change is saved stays.
    setTyped((now) => pickChanges(typed, now));
  });
  return (
    <Section title="Profile">
      <form className={classes.form} onSubmit={onSubmit}>
        <TextInput
          label="Name"
          autoComplete="name"
          maxLength={128}
          value={name}
          onChange={({ currentTarget }) => setTyped({ ...typed, name: currentTarget.value })}
          required
        />
        <TextInput
          label="Mail address"
          type="email"
          autoComplete="email"
          value={email}
          onChange={({ currentTarget }) => setTyped({ ...typed, email: currentTarget.value })}
          required
        />
        {error !== null && <ErrorState error={error} what="" title="Not changed" />}
        <Button type="submit" loading={busy} disabled={name === person.name && !newEmail}>
          Save
        </Button>
      </form>
    </Section>
  );
}
