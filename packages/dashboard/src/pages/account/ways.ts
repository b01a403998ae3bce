/** How people sign in, by the API's names for the ways. */
export const WAYS: Readonly<Record<string, string>> = {
  password: "with a password",
  passkey: "with a passkey",
  oidc: "with the identity provider",
  link: "with a link",
};
