import { EmptyState } from "../../ui/EmptyState.tsx";
import { WsLink } from "../../ui/WsLink.tsx";

/** What to do in a workspace that has nothing yet. */
export function FirstSteps() {
  return (
    <EmptyState title="This workspace has no queue yet">
      Create a <WsLink to="queues">queue</WsLink>: it delivers jobs to your handler, or workers take them. Programs enqueue jobs with an{" "}
      <WsLink to="keys">API key</WsLink>. Workflows are registered when a worker that has them starts. Invite others on the page of{" "}
      <WsLink to="members">members</WsLink>.
    </EmptyState>
  );
}
