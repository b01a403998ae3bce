import { Button } from "@mantine/core";
import type { OwnSession } from "@tidemill/contract";
import { auth } from "../../api/api.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { notify } from "../../ui/notices.ts";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./account.module.css";
import { useOwn, useOwnChanged } from "./use-own.ts";
import { WAYS } from "./ways.ts";

/** Where the person is signed in. */
export function SessionsSection() {
  const { data, error: loadError, refetch } = useOwn<{ data: OwnSession[] }>("/sessions");
  const changed = useOwnChanged();
  const others = data?.data.filter(({ current }) => !current) ?? [];
  const { busy, error, run } = useSubmit(async () => {
    await auth.delete("/sessions");
    notify({ tone: "done", text: "All other sessions have ended" });
    await changed();
  });
  return (
    <Section title="Sessions">
      {error !== null && <ErrorState error={error} what="" title="Not ended" />}
      {loadError ? (
        <ErrorState error={loadError} what="your sessions" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="your sessions" />
      ) : (
        <ul className={classes.list} aria-label="Sessions">
          {data.data.map((session) => (
            <SessionItem key={session.id} session={session} onEnded={changed} />
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <Button onClick={() => void run()} loading={busy}>
          End all other sessions
        </Button>
      )}
    </Section>
  );
}

function SessionItem({ session, onEnded }: { session: OwnSession; onEnded: () => Promise<unknown> }) {
  const { busy, error, run } = useSubmit(async () => {
    await auth.delete(`/sessions/${session.id}`);
    await onEnded();
  });
  const browser = session.user_agent ?? "An unknown browser";
  return (
    <li className={classes.item}>
      <span>
        {browser} {session.current && <strong>(this one)</strong>}{" "}
        <span className={classes.about}>
          {session.address ?? ""} signed in {WAYS[session.signed_in_with] ?? session.signed_in_with} <Time at={session.created_at} />, last
          used <Time at={session.last_used_at} />
        </span>
        {error !== null && <ErrorState error={error} what="" title="Not ended" />}
      </span>
      {!session.current && (
        <Button size="compact-xs" loading={busy} onClick={() => void run()} aria-label={`End the session of ${browser}`}>
          End
        </Button>
      )}
    </li>
  );
}
