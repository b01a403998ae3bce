import { Modal, type ModalProps } from "@mantine/core";
import { useFocusBack } from "../focus-back.ts";

export interface DialogProps extends Omit<ModalProps, "opened"> {
  /** Left out: it is there to be shown. */
  readonly opened?: boolean;
  /** It waits for a response, and cannot be closed. What the response does would otherwise be done to what is open by then. */
  readonly busy?: boolean;
}

/** Stands over the page. It keeps the focus while it is open, and gives it back. */
export function Dialog({ opened = true, busy = false, onClose, ...props }: DialogProps) {
  useFocusBack(opened);
  const close = () => {
    if (!busy) onClose();
  };
  return (
    <Modal opened={opened} onClose={close} returnFocus={false} closeButtonProps={{ "aria-label": "Close", disabled: busy }} {...props} />
  );
}
