import { Table } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { Delivery, DeliveryWithPayload } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { useRefresh } from "../../api/use-refresh.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { formatDuration } from "../../time/format.ts";
import { CopyableId } from "../../ui/CopyableId.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { JsonText } from "../../ui/json/JsonText.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { notify, notifyFailure } from "../../ui/notices.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { RequestButton } from "../../ui/RequestButton.tsx";
import { Section } from "../../ui/Section.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { toneOf } from "./delivery-state.ts";

/** A delivery: its attempts, what was sent, and what came back. */
export default function DeliveryPage() {
  const { webhook = "", delivery: id = "" } = useParams({ strict: false }) as { webhook?: string; delivery?: string };
  const path = `/webhooks/${encodeURIComponent(webhook)}/deliveries/${encodeURIComponent(id)}`;
  const { data, error, refetch } = useRecord<DeliveryWithPayload>("webhooks", path);
  return (
    <PageFrame
      title={data?.type ?? "Delivery"}
      above={
        <>
          <WsLink to="webhooks">Webhooks</WsLink>
          <WsLink to="webhooks/$webhook" params={{ webhook }}>
            {webhook}
          </WsLink>
        </>
      }
      beside={
        data && (
          <>
            <StateBadge state={data.state} tone={toneOf(data.state)} />
            <CopyableId id={data.id} label="Copy the delivery's id" />
          </>
        )
      }
      actions={data && data.state !== "pending" && <Replay webhook={webhook} path={path} />}
    >
      {error ? (
        <ErrorState error={error} what="the delivery" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the delivery" />
      ) : (
        <Sections delivery={data} />
      )}
    </PageFrame>
  );
}

function Replay({ webhook, path }: { webhook: string; path: string }) {
  const { id, api, may } = useWorkspace();
  const refresh = useRefresh("webhooks");
  const fromHere = useNavigateFromHere();
  if (!may("write")) return null;
  const replay = async () => {
    const navigate = fromHere();
    try {
      const { id: delivery } = await api.post<Delivery>(`${path}/replay`);
      await refresh();
      await navigate({ to: "/w/$workspace/webhooks/$webhook/deliveries/$delivery", params: { workspace: id, webhook, delivery } });
      notify({ tone: "done", text: "The event is sent again." });
    } catch (error) {
      notifyFailure("Not replayed", error);
    }
  };
  return (
    <RequestButton variant="filled" leftSection={<Icon name="retry" size={14} />} onRequest={replay}>
      Replay
    </RequestButton>
  );
}

function Sections({ delivery }: { delivery: Read<DeliveryWithPayload> }) {
  const { event_id, requested, response_body, payload, created_at, ended_at, next_attempt_at } = delivery;
  return (
    <>
      <Facts
        facts={[
          ["Event", <code key="i">{event_id}</code>, "wide"],
          ["Created", <Time key="c" at={created_at} exact />],
          ended_at ? ["Ended", <Time key="e" at={ended_at} exact />] : null,
          next_attempt_at ? ["Next attempt", <Time key="n" at={next_attempt_at} />] : null,
          requested ? ["Why", "Somebody requested it: a test or a replay"] : null,
        ]}
      />
      <Section title="Attempts">
        <Attempts attempts={delivery.attempts_log} />
      </Section>
      <Section title="Last response">
        <JsonText value={response_body} label="response" none="It had no body, or the body is not stored." />
      </Section>
      <Section title="Event">
        <JsonText value={payload ?? null} label="event" />
      </Section>
    </>
  );
}

function Attempts({ attempts }: { attempts: Read<Delivery>["attempts_log"] }) {
  if (attempts.length === 0) return <p>None has ended yet.</p>;
  return (
    <Table>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Attempt</Table.Th>
          <Table.Th>Started</Table.Th>
          <Table.Th>Took</Table.Th>
          <Table.Th>Response</Table.Th>
          <Table.Th>Error</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {attempts.map(({ attempt, started_at, duration_ms, status, error }) => (
          <Table.Tr key={attempt}>
            <Table.Td>{attempt}</Table.Td>
            <Table.Td>
              <Time at={started_at} exact />
            </Table.Td>
            <Table.Td>{formatDuration(duration_ms)}</Table.Td>
            <Table.Td>{status ?? "none"}</Table.Td>
            <Table.Td>{error ? `${error.code}: ${error.message}` : ""}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
