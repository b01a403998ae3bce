import { Table } from "@mantine/core";
import type { AuditEvent } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";

const LIMIT = 100;
const TYPES = ["secret.accessed", "secret.refused", "secret.unreadable"];
const TONES = { "secret.accessed": "good", "secret.refused": "bad", "secret.unreadable": "bad" } as const;

/** The fields of an access event. The service writes them, so they contain no long numbers. */
interface Access {
  readonly queue?: string | null;
  readonly workflow?: string;
  readonly webhook?: string;
  readonly host?: string;
  readonly secrets?: readonly string[];
  readonly attempts?: Readonly<Record<string, readonly string[]>>;
}

const accessOf = ({ input }: Read<AuditEvent>): Access => (input ? (JSON.parse(input.text) as Access) : {});

/** Who used a secret, according to the audit log: among the last accesses to any secret of the workspace. */
export function Accesses({ secret }: { secret: string }) {
  const { data, error, refetch } = useRecord<{ data: AuditEvent[] }>("secrets", "/audit-events", {
    query: { event_type: TYPES, limit: LIMIT },
  });
  if (error) return <ErrorState error={error} what="the accesses" onRetry={refetch} />;
  if (!data) return <LoadingState what="the accesses" />;
  const found = data.data.map((event) => ({ event, access: accessOf(event) }));
  const own = found.filter(({ event, access }) => event.resource_id === secret || access.secrets?.includes(secret));
  if (own.length === 0) return <p>{`None of the last ${LIMIT} accesses to secrets of the workspace used it.`}</p>;
  return (
    <Table>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>When</Table.Th>
          <Table.Th>What</Table.Th>
          <Table.Th>By</Table.Th>
          <Table.Th>Sent to</Table.Th>
          <Table.Th>Jobs</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {own.map(({ event, access }) => (
          <Table.Tr key={event.id}>
            <Table.Td>
              <Time at={event.occurred_at} />
            </Table.Td>
            <Table.Td>
              <StateBadge state={event.event_type.replace("secret.", "")} tone={TONES[event.event_type as keyof typeof TONES] ?? "rest"} />
            </Table.Td>
            <Table.Td>{userOf(access)}</Table.Td>
            <Table.Td>{access.host ?? ""}</Table.Td>
            <Table.Td>{Object.values(access.attempts ?? {}).flat().length}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function userOf({ queue, workflow, webhook }: Access): string {
  if (webhook !== undefined) return `webhook ${webhook}`;
  return workflow === undefined ? `queue ${queue ?? ""}` : `workflow ${workflow}`;
}
