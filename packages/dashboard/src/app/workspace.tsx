import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { createContext, type ReactNode, use, useMemo } from "react";
import { type Api, operator, workspaceApi } from "../api/api.ts";
import { type Membership, type Role, useSession } from "../api/session.ts";
import { lastWorkspace } from "./preferences.ts";

export interface Workspace extends Membership {
  readonly api: Api;
  /** Whether the person's role includes another. The server decides; this only hides what would be refused. */
  may(role: "read" | "write" | "admin"): boolean;
}

const INCLUDES: Readonly<Record<Role, readonly Role[]>> = {
  admin: ["admin", "write", "read", "worker"],
  write: ["write", "read"],
  read: ["read"],
  worker: ["worker"],
};

function useWorkspaceOfAddress(): Workspace | null {
  const { workspace: id } = useParams({ strict: false }) as { workspace?: string };
  return useWorkspaceOf(id);
}

/** The workspace of the page's address. On pages without one, such as the account: the workspace that was open last, or the first one. */
export function useWorkspaceNearby(): Workspace | null {
  const { workspace: id } = useParams({ strict: false }) as { workspace?: string };
  const { workspaces } = useSession();
  const last = lastWorkspace();
  return useWorkspaceOf(id ?? (workspaces.find((one) => one.id === last) ?? workspaces[0])?.id);
}

function useWorkspaceOf(id: string | undefined): Workspace | null {
  const { workspaces, person } = useSession();
  const membership = workspaces.find((one) => one.id === id);
  const isOperator = id !== undefined && !membership && person?.operator === true;
  // Operators see workspaces of others. The id is shown until the name is known.
  const { data: other } = useQuery({
    queryKey: ["operator", "workspaces", id],
    queryFn: ({ signal }) => operator.get<{ name: string; plan: string }>(`/workspaces/${id}`, { signal }),
    enabled: isOperator,
    staleTime: 60_000,
  });
  return useMemo(() => {
    const found = membership ?? (isOperator ? { id, name: other?.name ?? id, plan: other?.plan ?? "", role: "read" as const } : undefined);
    return found ? { ...found, api: workspaceApi(found.id), may: (role) => INCLUDES[found.role].includes(role) } : null;
  }, [id, membership, isOperator, other]);
}

const CurrentWorkspace = createContext<Workspace | null>(null);

/** Finds the workspace of the page once, for all who use it: a list has a link in each row. */
export function WorkspaceOfPage({ children }: { children: ReactNode }) {
  return <CurrentWorkspace value={useWorkspaceOfAddress()}>{children}</CurrentWorkspace>;
}

/** The workspace of the page. Null outside of `/w/…`, and for one that the person does not belong to. */
export const useWorkspaceOrNull = (): Workspace | null => use(CurrentWorkspace);

/** The workspace of the page. */
export function useWorkspace(): Workspace {
  const workspace = useWorkspaceOrNull();
  if (!workspace) throw new Error("useWorkspace is for pages below /w/$workspace.");
  return workspace;
}
