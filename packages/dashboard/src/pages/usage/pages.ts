import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/usage",
    title: "Usage",
    load: () => import("./UsagePage.tsx"),
    nav: { section: "Settings", order: 350, icon: "usage" },
    key: "u",
  },
];
