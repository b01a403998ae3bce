import { useParams } from "@tanstack/react-router";
import type { Webhook } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { Deliveries } from "./Deliveries.tsx";
import { stateOf } from "./state.ts";
import { WebhookActions } from "./WebhookActions.tsx";

/** A webhook: its settings, whether it works, and its deliveries. */
export default function WebhookPage() {
  const { webhook: name = "" } = useParams({ strict: false }) as { webhook?: string };
  const path = `/webhooks/${encodeURIComponent(name)}`;
  const { data, error, refetch } = useRecord<Webhook>("webhooks", path);
  return (
    <PageFrame
      title={name}
      above={<WsLink to="webhooks">Webhooks</WsLink>}
      beside={data && <StateBadge {...stateOf(data)} />}
      actions={data && <WebhookActions webhook={data} />}
    >
      {error ? (
        <ErrorState error={error} what="the webhook" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the webhook" />
      ) : (
        <>
          <WebhookFacts webhook={data} />
          <Deliveries webhook={name} />
        </>
      )}
    </PageFrame>
  );
}

function WebhookFacts({ webhook }: { webhook: Read<Webhook> }) {
  const { url, events, headers, disabled, failing_since, last_success_at, previous_secret_until } = webhook;
  const names = Object.keys(headers);
  return (
    <>
      {disabled?.reason === "failing" && (
        <ErrorState
          error={
            new Error("Repair the endpoint, send a test event, and switch it on again. Deliveries that were cancelled can be replayed.")
          }
          what=""
          title="It was switched off, because no delivery succeeded for five days"
        />
      )}
      <Facts
        facts={[
          ["Address", url],
          ["Events", events.join(", ")],
          ["Headers", names.length > 0 ? names.join(", ") : "–"],
          ["Last success", <Time key="s" at={last_success_at} />],
          failing_since ? ["Failing since", <Time key="f" at={failing_since} />] : null,
          disabled ? ["Switched off", <Time key="d" at={disabled.at} />] : null,
          previous_secret_until ? ["The old secret signs until", <Time key="p" at={previous_secret_until} exact />] : null,
        ]}
      />
    </>
  );
}
