import type { AccountEvent, AccountEventType } from "@tidemill/contract";
import { auth } from "../../api/api.ts";
import { usePages } from "../../api/use-pages.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { MoreButton } from "../../ui/list/MoreButton.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./account.module.css";
import { WAYS } from "./ways.ts";

const PAGE_SIZE = 20;

const WORDS: Readonly<Record<AccountEventType, string>> = {
  "session.started": "Signed in",
  "session.ended": "A session was ended",
  "sessions.ended": "All other sessions were ended",
  "code.refused": "A wrong code was entered after the right password",
  "password.changed": "The password was changed",
  "password.reset": "A new password was set with a link",
  "email.changed": "The mail address was changed",
  "totp.enabled": "The authenticator was turned on",
  "totp.disabled": "The authenticator was turned off",
  "recovery_codes.replaced": "New recovery codes were made",
  "recovery_code.used": "A recovery code was used",
  "passkey.added": "A passkey was added",
  "passkey.removed": "A passkey was removed",
  "identity.added": "An account of the identity provider was added",
  "reset_link.made": "A link to set a new password was made",
  "account.reset": "All ways to sign in were removed",
  "operator.granted": "Became an operator",
  "operator.revoked": "Is no longer an operator",
};

/** What happened to the account. A person who finds something that they did not do knows that somebody else uses their account. */
export function LogSection() {
  const pages = usePages<AccountEvent>(auth, "/events", { queryKey: ["own", "/events"], limit: PAGE_SIZE });
  const { records: events, error, refetch } = pages;
  return (
    <Section title="What happened to this account">
      {error ? (
        <ErrorState error={error} what="what happened" onRetry={refetch} />
      ) : !events ? (
        <LoadingState what="what happened" />
      ) : events.length === 0 ? (
        <p className={classes.text}>Nothing yet. Sign-ins, and changes to how you sign in, will be listed here.</p>
      ) : (
        <ul className={classes.list} aria-label="What happened to this account">
          {events.map((event) => (
            <LogItem key={event.id} event={event} />
          ))}
        </ul>
      )}
      <MoreButton pages={pages}>Show more</MoreButton>
    </Section>
  );
}

function LogItem({ event: { event_type, actor_id, address, user_agent, detail, occurred_at } }: { event: AccountEvent }) {
  const by = actor_id === "operator" ? "by an operator" : actor_id === "system" ? "by the service" : null;
  const what = event_type === "session.started" ? (WAYS[detail ?? ""] ?? detail) : detail;
  return (
    <li className={classes.item}>
      <span>
        {WORDS[event_type] ?? event_type} {event_type === "session.started" ? what : what && <bdi>({what})</bdi>}{" "}
        <span className={classes.about}>
          {[by, address, user_agent].filter(Boolean).join(", ")} <Time at={occurred_at} />
        </span>
      </span>
    </li>
  );
}
