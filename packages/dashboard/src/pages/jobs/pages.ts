import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/jobs",
    title: "Jobs",
    load: () => import("./JobsPage.tsx"),
    nav: { section: "Work", order: 20, icon: "jobs" },
    key: "j",
  },
  { path: "w/$workspace/jobs/$job", title: "Job", load: () => import("./JobPage.tsx") },
];
