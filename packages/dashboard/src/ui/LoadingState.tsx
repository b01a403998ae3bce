import classes from "./states.module.css";

/** A placeholder while something is loading. It appears only if that takes long. */
export function LoadingState({ what = "" }: { what?: string }) {
  return (
    <div className={classes.loading} role="status" data-loading>
      Loading{what && ` ${what}`}…
    </div>
  );
}
