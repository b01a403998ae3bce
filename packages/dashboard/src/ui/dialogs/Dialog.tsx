import { Modal, type ModalProps } from "@mantine/core";
import { useFocusBack } from "../focus-back.ts";

export interface DialogProps extends Omit<ModalProps, "opened"> {
  /** Left out: it is there to be shown. */
  readonly opened?: boolean;
}

/** Stands over the page. It keeps the focus while it is open, and gives it back. */
export function Dialog({ opened = true, ...props }: DialogProps) {
  useFocusBack(opened);
  return <Modal opened={opened} returnFocus={false} closeButtonProps={{ "aria-label": "Close" }} {...props} />;
}
