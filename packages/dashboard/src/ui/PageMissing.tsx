import { Button } from "@mantine/core";
import { ROOT } from "../api/request.ts";
import { EmptyState } from "./EmptyState.tsx";
import { PageFrame } from "./PageFrame.tsx";

/** For an address without a page, and for a workspace that does not exist or is not the person's. */
export function PageMissing() {
  return (
    <PageFrame title="Not found">
      <EmptyState
        title="There is nothing at this address"
        action={
          <Button component="a" href={ROOT}>
            Go to your workspace
          </Button>
        }
      >
        It may have been removed, or you may not belong to its workspace.
      </EmptyState>
    </PageFrame>
  );
}
