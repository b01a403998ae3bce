import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/audit",
    title: "Audit log",
    load: () => import("./AuditPage.tsx"),
    nav: { section: "Settings", order: 360, icon: "audit" },
    role: "admin",
    key: "l",
  },
];
