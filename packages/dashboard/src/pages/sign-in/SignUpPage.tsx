import { MailPage } from "./ResetPage.tsx";

/** Asks for a link with which to make an account. */
export default function SignUpPage() {
  return (
    <MailPage title="Sign up" path="/sign-up" action="Send me a link">
      A link to go on is on its way to this address. It can be used for a day.
    </MailPage>
  );
}
