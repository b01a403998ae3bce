/** How people sign in, by the words of the API. */
export const WAYS: Readonly<Record<string, string>> = {
  password: "by password",
  passkey: "by a passkey",
  oidc: "by the identity provider",
  link: "by a link",
};
