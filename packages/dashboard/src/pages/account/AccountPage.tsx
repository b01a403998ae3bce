import { usePerson, useSession } from "../../api/session.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { AuthenticatorSection } from "./AuthenticatorSection.tsx";
import { PasskeysSection } from "./PasskeysSection.tsx";
import { PasswordSection } from "./PasswordSection.tsx";
import { ProfileSection } from "./ProfileSection.tsx";
import { SessionsSection } from "./SessionsSection.tsx";

/** A person's own account: how they are called, and how they sign in. */
export default function AccountPage() {
  const person = usePerson();
  const { sign_in: ways } = useSession();
  return (
    <PageFrame title="Account">
      <ProfileSection person={person} mail={ways.mail} />
      <PasswordSection hasPassword={person.has_password} />
      <PasskeysSection possible={ways.passkeys} oidc={ways.oidc} />
      <AuthenticatorSection on={person.totp} hasPassword={person.has_password} />
      <SessionsSection />
    </PageFrame>
  );
}
