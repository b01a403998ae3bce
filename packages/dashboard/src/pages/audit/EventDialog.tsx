import { Dialog } from "../../ui/dialogs/Dialog.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { JsonText } from "../../ui/json/JsonText.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./audit.module.css";
import { NamedId } from "./NamedId.tsx";
import type { ActorNames } from "./use-actor-names.ts";
import { brokenLink, type ChainedEvent } from "./verify-chain.ts";

/** An event with its request, its outcome, and its place in the chain. */
export function EventDialog({ event, names, onClose }: { event: ChainedEvent; names: ActorNames; onClose: () => void }) {
  const { event_type, seq, occurred_at, actor_id, resource_type, resource_id, id, input, output, hash, previous } = event;
  const broken = brokenLink(event, null);
  return (
    <Dialog onClose={onClose} size="lg" title={event_type}>
      <Facts
        facts={[
          ["Number", seq],
          ["When", <Time key="at" at={occurred_at} exact />],
          ["Actor", <NamedId key="actor" id={actor_id} names={names} withId />],
          [
            "About",
            <span key="about">
              {resource_type} {resource_id !== null && <NamedId id={resource_id} names={names} withId />}
            </span>,
          ],
          ["Id", <code key="id">{id}</code>],
          ["Hash", <code key="hash">{hash}</code>],
          ["Hash before", <code key="previous">{previous}</code>],
          [
            "Its hash",
            broken ? (
              <span key="broken" className={classes.broken}>
                {broken.problem}
              </span>
            ) : (
              "matches what is shown here."
            ),
          ],
        ]}
      />
      <Section title="Asked for">
        <JsonText value={input} label="input" none="nothing" />
      </Section>
      <Section title="Result">
        <JsonText value={output} label="output" none="nothing" />
      </Section>
    </Dialog>
  );
}
