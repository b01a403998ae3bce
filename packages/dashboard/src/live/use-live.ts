import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { followWorkspace } from "./follow.ts";
import { setLiveState } from "./live-state.ts";

/** Keeps what is shown of a workspace up to date. The shell calls it once. */
export function useLive(workspaceId: string | undefined): void {
  const client = useQueryClient();
  useEffect(() => (workspaceId === undefined ? undefined : followWorkspace(client, workspaceId, setLiveState)), [client, workspaceId]);
}
