import type { DeadLetterGroup } from "@tidemill/contract";
import { WsLink } from "../../ui/WsLink.tsx";
import classes from "./dead-letters.module.css";

/** What the jobs of a group have in common, as a link to them. */
export function GroupWhat({ group: { fingerprint, error } }: { group: DeadLetterGroup }) {
  const { code, status, host, message } = error;
  return (
    <span className={classes.what} title={message}>
      <WsLink to="jobs" query={{ state: "failed", fingerprint }} className={classes.code}>
        {status === null ? code : `${code} ${status}`}
      </WsLink>{" "}
      {host && <span className={classes.host}>{host}</span>} {message}
    </span>
  );
}
