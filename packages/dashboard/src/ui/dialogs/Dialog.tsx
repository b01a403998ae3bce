import { Modal, type ModalProps } from "@mantine/core";
import { useEffect } from "react";
import { useFocusBack } from "../focus-back.ts";

export interface DialogProps extends Omit<ModalProps, "opened"> {
  /** Left out: the dialog is open as long as it is rendered. */
  readonly opened?: boolean;
  /** It cannot be closed: a request is under way, whose late response could close or change another dialog, or another dialog is over it. */
  readonly locked?: boolean;
}

/** A dialog over the page. It keeps the focus while it is open, and gives it back. */
export function Dialog({ opened = true, locked = false, onClose, ...props }: DialogProps) {
  useFocusBack(opened);
  useFocusInside(locked);
  const close = () => {
    if (!locked) onClose();
  };
  return (
    <Modal opened={opened} onClose={close} returnFocus={false} closeButtonProps={{ "aria-label": "Close", disabled: locked }} {...props} />
  );
}

/** A browser takes the focus from a button that is disabled. The dialog has it meanwhile. */
function useFocusInside(locked: boolean): void {
  useEffect(() => {
    const control = document.activeElement;
    const dialog = control?.closest<HTMLElement>("[role=dialog]");
    if (!locked || !dialog || !control?.matches(":disabled")) return;
    dialog.focus();
    return () => {
      if (document.activeElement === dialog) (control as HTMLElement).focus();
    };
  }, [locked]);
}
