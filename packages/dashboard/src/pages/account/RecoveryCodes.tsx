import { Alert, Button, Group } from "@mantine/core";
import { CopyButton } from "../../ui/CopyButton.tsx";
import classes from "./account.module.css";

/** Recovery codes, which are shown once. */
export function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <Alert color="yellow" variant="light" title="Store your recovery codes" mb="md">
      <p>Each code signs you in once if you lose your authenticator. They are shown only now. Earlier codes no longer work.</p>
      <ul className={classes.codes} aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <Group>
        <CopyButton text={codes.join("\n")} label="Copy the codes">
          Copy
        </CopyButton>
        <Button onClick={onClose}>I have stored them</Button>
      </Group>
    </Alert>
  );
}
