import { Alert, Button, Group } from "@mantine/core";
import { ApiError } from "../api/api-error.ts";
import classes from "./states.module.css";

interface ErrorStateProps {
  readonly error: unknown;
  /** What could not be loaded: "the runs". */
  readonly what: string;
  /** Replaces "Could not load …". */
  readonly title?: string;
  readonly onRetry?: () => unknown;
}

/** Says that something could not be loaded, and why. It never looks like an empty list. */
export function ErrorState({ error, what, title, onRetry }: ErrorStateProps) {
  const known = error instanceof ApiError ? error : null;
  const facts = known ? [known.status > 0 ? String(known.status) : null, known.code, known.requestId] : [];
  return (
    <Alert color="red" variant="light" role="alert" title={title ?? `Could not load ${what}`} className={classes.error}>
      <p className={classes.message}>{error instanceof Error ? error.message : String(error)}</p>
      {known && <p className={classes.facts}>{facts.filter(Boolean).join(" · ")}</p>}
      {onRetry && (
        <Group mt="xs">
          <Button onClick={() => void onRetry()}>Try again</Button>
        </Group>
      )}
    </Alert>
  );
}
