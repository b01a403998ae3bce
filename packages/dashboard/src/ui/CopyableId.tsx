import classes from "./CopyableId.module.css";
import { CopyButton } from "./CopyButton.tsx";

/** An id beside a page's title, and a button that copies it. */
export function CopyableId({ id, label }: { id: string; label: string }) {
  return (
    <span className={classes.line}>
      <code className={classes.id}>{id}</code>
      <CopyButton text={id} label={label} />
    </span>
  );
}
