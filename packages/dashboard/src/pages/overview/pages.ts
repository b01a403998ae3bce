import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/overview",
    title: "Overview",
    load: () => import("./OverviewPage.tsx"),
    nav: { section: "Work", order: 10, icon: "overview" },
    key: "o",
  },
];
