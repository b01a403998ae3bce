import { Navigate } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { EmptyState } from "../ui/EmptyState.tsx";
import { firstPage } from "./pages.ts";
import { useWorkspaceNearby } from "./workspace.tsx";

/** `/dashboard/`: goes to the workspace that was open last. */
export function Home() {
  const { person } = useSession();
  const workspace = useWorkspaceNearby();
  if (!workspace) {
    return (
      <EmptyState title="You do not belong to a workspace yet">
        {person?.more_by_provider
          ? "Sign in with the identity provider: your groups there give you rights."
          : "Ask an administrator of a workspace for an invitation."}
      </EmptyState>
    );
  }
  return <Navigate to={`/${firstPage()}`} params={{ workspace: workspace.id }} replace />;
}
