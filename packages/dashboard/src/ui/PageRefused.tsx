import { EmptyState } from "./EmptyState.tsx";
import { PageFrame } from "./PageFrame.tsx";

/** Shown instead of a page that the person may not see. None of its data is requested. */
export function PageRefused({ title, role, own }: { title: string; role: string; own: string | undefined }) {
  return (
    <PageFrame title={title}>
      {role === "operator" ? (
        <EmptyState title="Only operators see this page">It is about the whole service, not about one workspace.</EmptyState>
      ) : (
        <EmptyState title="Only administrators see this page">
          {own && `Your role in this workspace is ${own}. `}An administrator of the workspace can change your role.
        </EmptyState>
      )}
    </PageFrame>
  );
}
