import { MailPage } from "./ResetPage.tsx";

/** Requests a link to create an account. */
export default function SignUpPage() {
  return (
    <MailPage title="Sign up" path="/sign-up" action="Send me a link">
      A link to continue is on its way to this address. It can be used for a day.
    </MailPage>
  );
}
