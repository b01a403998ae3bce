import { Button, Group } from "@mantine/core";
import { CopyButton } from "../CopyButton.tsx";
import { Dialog } from "./Dialog.tsx";
import classes from "./SecretOnce.module.css";

export interface SecretOnceProps {
  /** Null: the dialog is closed. */
  readonly secret: string | null;
  /** "The key deploy". */
  readonly title: string;
  /** Where it is needed. */
  readonly about: string;
  readonly onClose: () => void;
}

/** Shows a secret that cannot be read again. It closes only by its button. */
export function SecretOnce({ secret, title, about, onClose }: SecretOnceProps) {
  return (
    <Dialog
      opened={secret !== null}
      onClose={onClose}
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <p className={classes.about}>{about} It is shown only now. Store it before you close this.</p>
      <output className={classes.secret} aria-label={title}>
        {secret}
      </output>
      <Group justify="space-between" mt="md">
        <CopyButton text={secret ?? ""} label="Copy the secret">
          Copy
        </CopyButton>
        <Button variant="filled" onClick={onClose}>
          I have stored it
        </Button>
      </Group>
    </Dialog>
  );
}
