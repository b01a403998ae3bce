import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/schedules",
    title: "Schedules",
    load: () => import("./SchedulesPage.tsx"),
    nav: { section: "Work", order: 60, icon: "schedules" },
    key: "s",
  },
  { path: "w/$workspace/schedules/$schedule", title: "Schedule", load: () => import("./SchedulePage.tsx") },
];
