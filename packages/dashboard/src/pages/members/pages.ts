import type { Page } from "../../app/pages.ts";

export const pages: readonly Page[] = [
  {
    path: "w/$workspace/members",
    title: "Members",
    load: () => import("./MembersPage.tsx"),
    nav: { section: "Settings", order: 340, icon: "members" },
    role: "admin",
  },
];
