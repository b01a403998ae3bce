import { useQuery } from "@tanstack/react-query";
import type { Key, Member } from "@tidemill/contract";
import type { Api } from "../../api/api.ts";
import type { Page } from "../../api/merge-pages.ts";
import { usePerson } from "../../api/session.ts";
import { useWorkspace } from "../../app/workspace.tsx";

/** Names by ids. `kind` is shown beside a name, because anybody may be called "system". */
export type ActorNames = ReadonlyMap<string, { readonly name: string; readonly kind: string }>;

const PAGE_SIZE = 100;
/** In a workspace with more people or keys, the oldest ones are shown by their ids. */
const MAX_PAGES = 10;
const NOBODY: ActorNames = new Map();

/** Names of the people and keys of the workspace, read once for all events. */
export function useActorNames(): ActorNames {
  const { id, api } = useWorkspace();
  const me = usePerson();
  const { data } = useQuery({
    queryKey: [id, "names", "actors"],
    queryFn: async ({ signal }): Promise<ActorNames> => {
      const [members, keys] = await Promise.all([readAll<Member>(api, "/members", signal), readAll<Key>(api, "/keys", signal)]);
      return new Map<string, { name: string; kind: string }>([
        ...members.map((member) => [member.id, { name: member.name, kind: member.id === me.id ? "you" : "person" }] as const),
        ...keys.map((key) => [key.id, { name: key.name, kind: "key" }] as const),
      ]);
    },
    staleTime: 60_000,
  });
  return data ?? NOBODY;
}

async function readAll<T>(api: Api, path: string, signal: AbortSignal): Promise<readonly T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { data, next_cursor }: Page<T> = await api.get<Page<T>>(path, { query: { limit: PAGE_SIZE, cursor }, signal });
    all.push(...data);
    cursor = next_cursor;
    if (cursor === null) break;
  }
  return all;
}
