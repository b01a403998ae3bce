import type { ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState } from "./ErrorState.tsx";
import { PageFrame } from "./PageFrame.tsx";

/** Stands in place of a page that failed. The navigation goes on to work. */
export function PageError({ error, reset }: ErrorComponentProps) {
  return (
    <PageFrame title="This page failed">
      <ErrorState error={error} what="this page" onRetry={reset} />
    </PageFrame>
  );
}
