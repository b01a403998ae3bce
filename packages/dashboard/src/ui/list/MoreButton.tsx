import { Button } from "@mantine/core";
import type { Pages } from "../../api/use-pages.ts";

/** Loads the next page, where there is one. */
export function MoreButton({ pages, children = "More" }: { pages: Pages<unknown>; children?: string }) {
  if (!pages.hasMore) return null;
  return (
    <Button mt="md" onClick={() => void pages.loadMore()} loading={pages.isLoadingMore}>
      {children}
    </Button>
  );
}
