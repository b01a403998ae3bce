import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/runs",
    title: "Runs",
    load: () => import("./RunsPage.tsx"),
    nav: { section: "Workflows", order: 220, icon: "runs" },
    key: "r",
  },
  { path: "w/$workspace/runs/$run", title: "Run", load: () => import("./RunPage.tsx") },
];
