import type { Explanation } from "@tidemill/contract";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import classes from "./jobs.module.css";

/** How to open a gate, for a person who can do something about it. */
const OPENS: Readonly<Record<string, string>> = {
  nodes: "Start a node: tidemill up.",
  due: "It opens by itself at that time.",
  approval: "Approve the job, or wait until the timeout decides.",
  queue_paused: "Resume the queue.",
  plan: "Move the workspace to a plan that has callbacks, or serve the queue with workers.",
  handler: "Set the queue's callback_url, or start a worker for it.",
  circuit: "Fix the endpoint or the queue's address. One successful probe closes the circuit.",
  key_concurrency: "It opens when a job with the same key ends. Raise the queue's concurrency_per_key for more at once.",
  queue_concurrency: "It opens when a job of the queue ends. Raise the queue's concurrency for more at once.",
  rate_limit: "It opens by itself. Raise the queue's rate limit for more starts.",
  workspace_share: "It opens when other jobs of the workspace end. More nodes have more room.",
  quota: "It opens next month, or with a higher limit.",
};

const NAMES: Readonly<Record<string, string>> = {
  nodes: "Nodes",
  due: "Time",
  approval: "Approval",
  queue_paused: "Pause",
  plan: "Plan",
  handler: "Handler",
  circuit: "Circuit",
  key_concurrency: "Key limit",
  queue_concurrency: "Queue limit",
  rate_limit: "Rate limit",
  workspace_share: "Node's room",
  quota: "Quota",
  state: "State",
};

/** Why a job is not running: the gates that hold it, what opens each, and when it should start. */
export function WhyNot({ path }: { path: string }) {
  const { data, error, refetch } = useRecord<Explanation>("jobs", `${path}/explain`);
  if (error && !data) return <ErrorState error={error} what="why the job is not running" onRetry={refetch} />;
  if (!data) return <LoadingState what="why the job is not running" />;
  const holding = data.gates.filter(({ holds, gate }) => holds && data.held_by.includes(gate));
  return (
    <section className={classes.why} aria-label="Why it is not running">
      <p className={classes.summary}>{data.summary}</p>
      {holding.length > 0 && (
        <ul className={classes.gates}>
          {holding.map(({ gate, message }) => (
            <li key={gate} className={classes.gate}>
              <StateBadge state={gate} tone="warn" label={NAMES[gate] ?? gate} />
              {/* The message of a single gate is in the summary. */}
              {(holding.length > 1 || !OPENS[gate]) && <span>{message}</span>}
              {OPENS[gate] && (
                <span className={classes.opens}>
                  {OPENS[gate]}{" "}
                  {gate !== "nodes" && gate !== "due" && gate !== "quota" && gate !== "approval" && (
                    <WsLink to="queues/$queue" params={{ queue: data.queue }}>
                      Open the queue
                    </WsLink>
                  )}
                  {gate === "approval" && <WsLink to="approvals">Open the approvals</WsLink>}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {!data.estimated_start && holding.length > 0 && (
        <p className={classes.opens}>When it starts cannot be estimated: it depends on {holding.length === 1 ? "that" : "these"}.</p>
      )}
      {data.estimated_start && (
        <p className={classes.opens}>
          Expected to start <Time at={data.estimated_start} />
          {data.ahead !== null &&
            data.ahead > 0 &&
            `, after ${data.ahead.toLocaleString("en")}${data.ahead_is_more ? " or more" : ""} other jobs`}
          .
        </p>
      )}
    </section>
  );
}
