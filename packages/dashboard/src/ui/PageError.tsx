import type { ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState } from "./ErrorState.tsx";
import { PageFrame } from "./PageFrame.tsx";

/** Shown instead of a page that failed. The navigation continues to work. A script that could not be loaded needs a new document. */
export function PageError({ error }: ErrorComponentProps) {
  return (
    <PageFrame title="This page failed">
      <ErrorState error={error} what="this page" onRetry={() => globalThis.location.reload()} />
    </PageFrame>
  );
}
