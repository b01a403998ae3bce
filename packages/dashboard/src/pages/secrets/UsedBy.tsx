import type { Queue, Webhook } from "@tidemill/contract";
import type { ReactNode } from "react";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { WsLink } from "../../ui/WsLink.tsx";

const LIMIT = 100;

/** The queues and webhooks whose address or headers name a secret. Payloads of jobs and inputs of runs may name it, too. */
export function UsedBy({ secret }: { secret: string }) {
  const query = { limit: LIMIT };
  const queues = useRecord<{ data: Queue[]; next_cursor: string | null }>("queues", "/queues", { query });
  const webhooks = useRecord<{ data: Webhook[]; next_cursor: string | null }>("webhooks", "/webhooks", { query });
  const error = queues.error ?? webhooks.error;
  if (error) return <ErrorState error={error} what="the settings" onRetry={() => Promise.all([queues.refetch(), webhooks.refetch()])} />;
  if (!queues.data || !webhooks.data) return <LoadingState what="the settings" />;
  const template = new RegExp(`\\$\\{\\{\\s*secrets\\.${secret}\\s*\\}\\}`);
  const names = (texts: readonly (string | null)[]) => texts.some((text) => text !== null && template.test(text));
  const found: ReactNode[] = [
    ...queues.data.data
      .filter(({ callback_url, callback_headers }) => names([callback_url, ...Object.values(callback_headers)]))
      .map(({ name }) => (
        <li key={`q ${name}`}>
          Queue{" "}
          <WsLink to="queues/$queue" params={{ queue: name }}>
            {name}
          </WsLink>
        </li>
      )),
    ...webhooks.data.data
      .filter(({ url, headers }) => names([url, ...Object.values(headers)]))
      .map(({ name }) => (
        <li key={`w ${name}`}>
          Webhook{" "}
          <WsLink to="webhooks/$webhook" params={{ webhook: name }}>
            {name}
          </WsLink>
        </li>
      )),
  ];
  return (
    <>
      {found.length > 0 ? <ul>{found}</ul> : <p>No queue and no webhook names it.</p>}
      <p>
        Payloads of jobs and inputs of runs may name it, too.
        {queues.data.next_cursor !== null && ` Only the newest ${LIMIT} queues were searched.`}
      </p>
    </>
  );
}
