import { useQuery } from "@tanstack/react-query";
import type { IconName } from "../ui/Icon.tsx";
import { useNavigablePages } from "./navigable-pages.ts";
import { PAGES } from "./pages.ts";
import { useWorkspaceNearby } from "./workspace.tsx";

/** Somewhere that the command palette leads to. */
export interface Place {
  readonly key: string;
  readonly name: string;
  readonly what: string;
  readonly icon: IconName;
  readonly to: string;
  readonly params: Readonly<Record<string, string>>;
  readonly search?: Readonly<Record<string, string>>;
}

/** How many places are shown. */
const SHOWN = 12;

/** Which page an id names, by its prefix. */
const ID_PAGES: Readonly<Record<string, { path: string; param: string; what: string; icon: IconName }>> = {
  job: { path: "w/$workspace/jobs/$job", param: "job", what: "Job", icon: "jobs" },
  run: { path: "w/$workspace/runs/$run", param: "run", what: "Run", icon: "runs" },
};

const hasPage = (path: string): boolean => PAGES.some((page) => page.path === path);

/** The places whose names contain all words of a text. */
export function usePlaces(text: string): readonly Place[] {
  const workspace = useWorkspaceNearby();
  const pages = useNavigablePages();
  const queues = useNames("queues", "name");
  const workflows = useNames("workflows", "id");
  const params = { workspace: workspace?.id ?? "" };
  const places: Place[] = [];
  const [, prefix = ""] = /^(\w+)_[0-9a-z]{26}$/.exec(text.trim()) ?? [];
  const named = ID_PAGES[prefix];
  if (named && workspace && hasPage(named.path)) {
    const id = text.trim();
    places.push({ key: id, name: id, what: named.what, icon: named.icon, to: `/${named.path}`, params: { ...params, [named.param]: id } });
  }
  for (const { path, title, nav } of pages) {
    if (nav) places.push({ key: path, name: title, what: "Page", icon: nav.icon, to: `/${path}`, params });
  }
  for (const [names, path, param, what, icon] of [
    [queues, "w/$workspace/queues/$queue", "queue", "Queue", "queues"],
    [workflows, "w/$workspace/workflows/$workflow", "workflow", "Workflow", "workflows"],
  ] as const) {
    if (!hasPage(path)) continue;
    for (const name of names)
      places.push({ key: `${what} ${name}`, name, what, icon, to: `/${path}`, params: { ...params, [param]: name } });
  }
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return places.filter(({ name, what }) => words.every((word) => `${name} ${what}`.toLowerCase().includes(word))).slice(0, SHOWN);
}

/** The first names of a list. A workspace may have very many; typing an exact name finds its page by the filter of that list. */
function useNames(kind: "queues" | "workflows", field: "name" | "id"): readonly string[] {
  const workspace = useWorkspaceNearby();
  const { data } = useQuery({
    queryKey: [workspace?.id, kind, "names"],
    queryFn: ({ signal }) =>
      workspace?.api.get<{ data: Record<string, string>[] }>(`/${kind}`, { query: { limit: 100 }, signal }) ?? { data: [] },
    enabled: workspace !== null,
    staleTime: 30_000,
  });
  return data?.data.map((record) => record[field] ?? "") ?? [];
}
