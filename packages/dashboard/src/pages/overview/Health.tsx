import { Alert } from "@mantine/core";
import type { Status } from "@tidemill/contract";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { WsLink } from "../../ui/WsLink.tsx";

/** Where to look when a check is not well. */
const PLACES: Readonly<Record<string, { readonly to: string; readonly text: string }>> = {
  quota: { to: "usage", text: "See the usage" },
  callbacks: { to: "queues", text: "See the queues" },
  circuits: { to: "queues", text: "See the queues" },
  dead_letters: { to: "dead-letters", text: "See the dead letters" },
  workers: { to: "workers", text: "See the workers" },
};

const NAMES: Readonly<Record<string, string>> = {
  quota: "The month's executions are used up",
  callbacks: "Callbacks are not sent",
  circuits: "A handler fails",
  dead_letters: "Jobs fail",
  workers: "Jobs wait for a worker",
};

/** What needs attention, or that nothing does. */
export function Health({ status: { checks } }: { status: Status }) {
  const wrong = checks.filter((check) => check.status !== "ok");
  if (wrong.length === 0)
    return (
      <p>
        <StateBadge state="ok" label="All checks passed" /> {checks.map(({ message }) => message).join(" ")}
      </p>
    );
  return (
    <>
      {wrong.map(({ name, message }) => (
        <Alert key={name} color="red" variant="light" mb="xs" title={NAMES[name] ?? name.replaceAll("_", " ")}>
          {message} {PLACES[name] && <WsLink to={PLACES[name].to}>{PLACES[name].text}</WsLink>}
        </Alert>
      ))}
    </>
  );
}
