import { WsLink } from "../../ui/WsLink.tsx";

/** The id of a job, as a link to its page. */
export function JobLink({ id }: { id: string }) {
  return (
    <WsLink to="jobs/$job" params={{ job: id }}>
      <code>{id}</code>
    </WsLink>
  );
}
