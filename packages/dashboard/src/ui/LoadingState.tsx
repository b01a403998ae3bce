import classes from "./states.module.css";

/** Stands where something is being loaded. It shows itself only when that takes long. */
export function LoadingState({ what = "" }: { what?: string }) {
  return (
    <div className={classes.loading} role="status" data-loading>
      Loading{what && ` ${what}`}…
    </div>
  );
}
