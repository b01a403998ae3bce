import { useQuery } from "@tanstack/react-query";
import { Navigate, Outlet, useLocation, useMatches, useParams } from "@tanstack/react-router";
import { sessionQuery, usePerson } from "../api/session.ts";
import { ErrorState } from "../ui/ErrorState.tsx";
import { LoadingState } from "../ui/LoadingState.tsx";
import { PageMissing } from "../ui/PageMissing.tsx";
import { PageRefused } from "../ui/PageRefused.tsx";
import type { Page } from "./pages.ts";
import { Shell } from "./Shell.tsx";
import { useWorkspaceOrNull, WorkspaceOfPage } from "./workspace.tsx";

/** The gate: pages behind it are shown only to people who are signed in. Others are sent to sign in, and come back. */
export function SignedIn() {
  const { data: session, error: failure, failureReason, refetch } = useQuery(sessionQuery);
  const { href } = useLocation();
  const error = failure ?? failureReason;
  if (!session) return error ? <ErrorState error={error} onRetry={refetch} what="your session" /> : <LoadingState />;
  // The address changes before the page does, and must not be mistaken for the page that was wanted.
  if (!session.person && href.startsWith("/sign-in")) return <LoadingState />;
  if (!session.person) return <Navigate to="/sign-in" search={href === "/" ? {} : { next: href }} replace />;
  return (
    <WorkspaceOfPage>
      <Shell>
        <PageOfWorkspace />
      </Shell>
    </WorkspaceOfPage>
  );
}

/** The page, if its workspace is one of the person's, and if they may see it. */
function PageOfWorkspace() {
  const { workspace } = useParams({ strict: false }) as { workspace?: string };
  const known = useWorkspaceOrNull();
  const { operator } = usePerson();
  const { title = "", role } = useMatches({ select: (matches) => matches.at(-1)?.staticData as Partial<Page> | undefined }) ?? {};
  if (workspace !== undefined && known === null) return <PageMissing />;
  const maySee = role === undefined || (role === "operator" ? operator : known?.may(role));
  return maySee ? <Outlet /> : <PageRefused title={title} role={role} own={known?.role} />;
}
