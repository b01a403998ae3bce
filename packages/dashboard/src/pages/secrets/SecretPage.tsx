import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { Secret } from "@tidemill/contract";
import { useEffect, useState } from "react";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useNavigateFromHere } from "../../app/use-navigate-from-here.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ConfirmDialog } from "../../ui/dialogs/ConfirmDialog.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { Accesses } from "./Accesses.tsx";
import { limitText } from "./limits.ts";
import { SecretForm } from "./SecretForm.tsx";
import { UsedBy } from "./UsedBy.tsx";

const nameOf = ({ name }: Secret): string => name;

/** A secret: where it may be used, where it is, and what used it. */
export default function SecretPage() {
  const { secret: name = "" } = useParams({ strict: false }) as { secret?: string };
  const { may } = useWorkspace();
  // There is no request for one secret. A workspace has few.
  const list = useKeysetList<Secret>({ kind: "secrets", path: "/secrets", idOf: nameOf });
  const secret = [...(list.rows ?? [])].find(({ id }) => id === name)?.record;
  const mustLoadMore = list.rows !== undefined && !secret && list.hasMore && !list.isLoadingMore && !list.moreError;
  const { loadMore } = list;
  useEffect(() => {
    if (mustLoadMore) loadMore();
  });
  return (
    <PageFrame title={name} above={<WsLink to="secrets">Secrets</WsLink>} actions={secret && may("admin") && <Actions secret={secret} />}>
      {list.error || list.moreError ? (
        <ErrorState error={list.error ?? list.moreError} what="the secret" onRetry={list.reload} />
      ) : secret ? (
        <>
          <Facts
            facts={[
              ["Value", secret.value_hint],
              ["Allowed queues", limitText(secret.allowed_queues, "all, with workflows and webhooks")],
              ["Allowed hosts", limitText(secret.allowed_hosts, "all")],
              ["Stored", <Time key="s" at={secret.created_at} />],
              ["Changed", <Time key="c" at={secret.updated_at} />],
            ]}
          />
          <Section title="Where settings name it">
            <UsedBy secret={name} />
          </Section>
          {may("admin") && (
            <Section title="Last accesses">
              <Accesses secret={name} />
            </Section>
          )}
        </>
      ) : list.rows && !list.hasMore ? (
        <EmptyState title="There is no such secret" />
      ) : (
        <LoadingState what="the secret" />
      )}
    </PageFrame>
  );
}

function Actions({ secret }: { secret: Secret }) {
  const { id, api } = useWorkspace();
  const client = useQueryClient();
  const fromHere = useNavigateFromHere();
  const [asked, setAsked] = useState<"change" | "delete" | null>(null);
  const close = () => setAsked(null);
  const remove = async () => {
    const navigate = fromHere();
    await api.delete(`/secrets/${secret.name}`);
    client.removeQueries({ queryKey: [id, "list", "secrets"] });
    client.removeQueries({ queryKey: [id, "secrets"] });
    await navigate({ to: "/w/$workspace/secrets", params: { workspace: id } });
  };
  return (
    <>
      <Button onClick={() => setAsked("change")}>Change or rotate</Button>
      <Button color="red" variant="light" onClick={() => setAsked("delete")}>
        Delete
      </Button>
      <SecretForm opened={asked === "change"} secret={secret} onClose={close} />
      <ConfirmDialog
        opened={asked === "delete"}
        onClose={close}
        title={`Delete ${secret.name}?`}
        action="Delete"
        danger
        name={secret.name}
        typed
        onConfirm={remove}
      >
        Attempts that need it fail with SECRET_NOT_FOUND until it is stored again. This cannot be undone.
      </ConfirmDialog>
    </>
  );
}
