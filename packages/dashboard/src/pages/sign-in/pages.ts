import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  { path: "sign-in", title: "Sign in", load: () => import("./SignInPage.tsx"), bare: true },
  { path: "sign-up", title: "Sign up", load: () => import("./SignUpPage.tsx"), bare: true },
  { path: "reset", title: "Set a new password", load: () => import("./ResetPage.tsx"), bare: true },
  { path: "link/$token", title: "Welcome", load: () => import("./LinkPage.tsx"), bare: true },
];
