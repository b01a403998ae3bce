import { usePerson, useSession } from "../../api/session.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { AuthenticatorSection } from "./AuthenticatorSection.tsx";
import classes from "./account.module.css";
import { LogSection } from "./LogSection.tsx";
import { PasskeysSection } from "./PasskeysSection.tsx";
import { PasswordSection } from "./PasswordSection.tsx";
import { ProfileSection } from "./ProfileSection.tsx";
import { SessionsSection } from "./SessionsSection.tsx";

/** A person's own account: their name, and how they sign in. */
export default function AccountPage() {
  const person = usePerson();
  const { sign_in: ways } = useSession();
  return (
    <PageFrame title="Account">
      {person.more_by_provider && ways.oidc && (
        <p className={classes.text}>
          You have more rights when you sign in with <bdi>{ways.oidc.name}</bdi>: the rights that your groups there give you.
        </p>
      )}
      <ProfileSection person={person} mail={ways.mail} />
      <PasswordSection hasPassword={person.has_password} />
      <PasskeysSection possible={ways.passkeys} oidc={ways.oidc} />
      <AuthenticatorSection on={person.totp} hasPassword={person.has_password} />
      <SessionsSection />
      <LogSection />
    </PageFrame>
  );
}
