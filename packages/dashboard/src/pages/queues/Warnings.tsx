import { Alert } from "@mantine/core";
import type { QueueWithMetrics } from "@tidemill/contract";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { isUnserved } from "./condition.ts";
import classes from "./Warnings.module.css";

/** Why jobs of the queue do not start. */
export function Warnings({ queue, served }: { queue: QueueWithMetrics; served: ReadonlySet<string> | null }) {
  const { circuit, callbacks_stopped, paused, metrics } = queue;
  return (
    <>
      {circuit.state === "open" && (
        <Alert color="red" variant="light" mb="xs" title={`The circuit is open: the handler at ${circuit.host} fails`}>
          {sentence(circuit.last_error?.message)} It opened <Time at={circuit.opened_at} />. Jobs wait without using attempts, except for
          one probe at a time; the next one <Time at={circuit.next_probe_at} />. A change of the callback URL closes it.
        </Alert>
      )}
      {callbacks_stopped && (
        <Alert color="red" variant="light" mb="xs" title="Callbacks are not sent">
          {callbacks_stopped.message} Jobs wait until the plan has callbacks again.
        </Alert>
      )}
      {isUnserved(queue, served) && (
        <Alert color="red" variant="light" mb="xs" title="Nobody takes these jobs">
          The queue has no callback URL, and no worker has asked for it in the last 15 minutes. Set a callback URL in the settings, or start
          a worker. <WsLink to="workers">See the workers</WsLink>
        </Alert>
      )}
      {paused && (
        <Alert
          variant="outline"
          mb="xs"
          title="The queue is paused"
          classNames={{ root: classes.warning ?? "", title: classes.warningTitle ?? "" }}
        >
          It accepts jobs and starts none. {metrics.waiting > 0 && `${metrics.waiting.toLocaleString("en")} wait.`}
        </Alert>
      )}
    </>
  );
}

/** A message as a sentence, so that another one can follow. */
const sentence = (text = ""): string => (text === "" || /[.!?]$/.test(text) ? text : `${text}.`);
