import { Button, CloseButton } from "@mantine/core";
import { useEffect, useState } from "react";
import classes from "./Notices.module.css";
import { dismiss, type Notice, useNotices } from "./notices.ts";

const SHOWN_MS = 8_000;

/** The notices, at the foot of the window. Screen readers read them when they come. */
export function Notices() {
  const notices = useNotices();
  return (
    <section className={classes.notices} aria-label="Notices" aria-live="polite">
      {notices.map((notice) => (
        <NoticeLine key={notice.id} notice={notice} />
      ))}
    </section>
  );
}

function NoticeLine({ notice: { id, tone, text, undo } }: { notice: Notice }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held || tone === "failed") return;
    const timer = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, tone, held]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: nothing is done here, the notice only stays while it is read.
    <div
      className={classes.notice}
      data-tone={tone}
      role={tone === "failed" ? "alert" : "status"}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span className={classes.text}>{text}</span>
      {undo && (
        <Button
          variant="subtle"
          onClick={() => {
            dismiss(id);
            void undo();
          }}
        >
          Undo
        </Button>
      )}
      <CloseButton size="sm" aria-label="Dismiss" onClick={() => dismiss(id)} />
    </div>
  );
}
