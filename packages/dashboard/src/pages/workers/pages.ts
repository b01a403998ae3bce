import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/workers",
    title: "Workers",
    load: () => import("./WorkersPage.tsx"),
    nav: { section: "Workflows", order: 230, icon: "workers" },
    key: "k",
  },
];
