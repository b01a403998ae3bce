import { Button, type ButtonProps } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

interface RequestButtonProps extends ButtonProps {
  /** Sends the request, and says how it ended. */
  readonly onRequest: () => Promise<unknown>;
}

/** A button that sends a request. It cannot be pressed again until the request has ended, so that nothing is done twice. */
export function RequestButton({ onRequest, ...props }: RequestButtonProps) {
  const [busy, setBusy] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  // A browser takes the focus from a button that is disabled.
  const hadFocus = useRef(false);
  useEffect(() => {
    if (busy || !hadFocus.current) return;
    hadFocus.current = false;
    if (document.activeElement === document.body) button.current?.focus();
  }, [busy]);
  const send = async () => {
    hadFocus.current = document.activeElement === button.current;
    setBusy(true);
    try {
      await onRequest();
    } finally {
      setBusy(false);
    }
  };
  return <Button ref={button} loading={busy} onClick={() => void send()} {...props} />;
}
