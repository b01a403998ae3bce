import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/secrets",
    title: "Secrets",
    load: () => import("./SecretsPage.tsx"),
    nav: { section: "Settings", order: 320, icon: "secrets" },
  },
  { path: "w/$workspace/secrets/$secret", title: "Secret", load: () => import("./SecretPage.tsx") },
];
