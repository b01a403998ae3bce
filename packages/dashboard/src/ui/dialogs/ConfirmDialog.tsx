import { TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { ErrorState } from "../ErrorState.tsx";
import { Dialog } from "./Dialog.tsx";
import { DialogButtons } from "./DialogButtons.tsx";

/** Above this count, the name must be typed. */
const TYPED_ABOVE = 100;

export interface ConfirmDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** What happens, as a question: "Purge 1,200 jobs?". */
  readonly title: string;
  /** The consequences. */
  readonly children: ReactNode;
  /** The verb: "Purge". */
  readonly action: string;
  /** Resolves when it is done; then the dialog closes. An error that it throws is shown. */
  readonly onConfirm: () => Promise<unknown>;
  /** How many records it changes. */
  readonly count?: number;
  /** The text that must be typed if there are many records, or always with `typed`: the name of the queue or the workspace. */
  readonly name?: string;
  readonly typed?: boolean;
  readonly danger?: boolean;
  /** It cannot be confirmed yet. */
  readonly disabled?: boolean;
}

/** Asks before something is done that cannot be undone, or that changes much. */
export function ConfirmDialog({
  opened,
  onClose,
  title,
  children,
  action,
  onConfirm,
  count = 1,
  name,
  typed,
  danger = false,
  disabled = false,
}: ConfirmDialogProps) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const mustType = name !== undefined && (typed || count > TYPED_ABOVE);
  const close = () => {
    setText("");
    setError(null);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      close();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog opened={opened} locked={busy} onClose={close} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        {children}
        {mustType && (
          <TextInput
            mt="sm"
            label={`Type ${name} to confirm`}
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
        {error !== null && <ErrorState error={error} what="the result" title="It was not done" />}
        <DialogButtons
          action={action}
          onCancel={close}
          busy={busy}
          disabled={disabled || (mustType && text !== name)}
          danger={danger}
          focused={!mustType}
        />
      </form>
    </Dialog>
  );
}
