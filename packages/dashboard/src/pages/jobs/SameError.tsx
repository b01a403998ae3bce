import { Button } from "@mantine/core";
import { Icon } from "../../ui/Icon.tsx";
import type { JobRow } from "./columns.tsx";
import classes from "./jobs.module.css";

/**
 * Says that the list has only jobs of one group of dead letters, with the error of one of them. This filter cannot be typed, only cleared.
 */
export function SameError({ job, onClear }: { job: JobRow | undefined; onClear: () => void }) {
  const error = job?.last_error;
  const text = error ? `${error.code}: ${error.message}` : "of one group of dead letters";
  return (
    <Button
      variant="light"
      className={classes.sameError ?? ""}
      title={text}
      aria-label={`Clear the filter Same error: ${text}`.slice(0, 200)}
      rightSection={<Icon name="close" size={12} />}
      onClick={onClear}
    >
      Same error: {text}
    </Button>
  );
}
