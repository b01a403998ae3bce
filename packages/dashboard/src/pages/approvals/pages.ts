import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/approvals",
    title: "Approvals",
    load: () => import("./ApprovalsPage.tsx"),
    nav: { section: "Work", order: 50, icon: "approvals" },
    key: "a",
  },
];
