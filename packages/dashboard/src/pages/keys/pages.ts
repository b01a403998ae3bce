import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/keys",
    title: "API keys",
    load: () => import("./KeysPage.tsx"),
    nav: { section: "Settings", order: 330, icon: "keys" },
    role: "admin",
  },
];
