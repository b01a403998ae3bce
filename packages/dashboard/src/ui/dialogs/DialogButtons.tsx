import { Button, Group } from "@mantine/core";

export interface DialogButtonsProps {
  /** Label of the button that submits the form: "Save". */
  readonly action: string;
  readonly onCancel: () => void;
  /** Label of the other button. */
  readonly cancel?: string;
  /** A request is under way: neither works until its response comes. */
  readonly busy?: boolean;
  /** The form cannot be submitted as it is. */
  readonly disabled?: boolean;
  readonly danger?: boolean;
  /** Whether the button that submits has the focus when the dialog opens. */
  readonly focused?: boolean;
}

/** The buttons at the end of a form in a dialog: cancel and submit. */
export function DialogButtons({
  action,
  onCancel,
  cancel = "Cancel",
  busy = false,
  disabled = false,
  danger,
  focused,
}: DialogButtonsProps) {
  return (
    <Group justify="flex-end" mt="md">
      <Button onClick={onCancel} disabled={busy}>
        {cancel}
      </Button>
      <Button
        type="submit"
        variant="filled"
        color={danger ? "red" : "tide"}
        loading={busy}
        disabled={disabled}
        data-autofocus={focused || undefined}
      >
        {action}
      </Button>
    </Group>
  );
}
