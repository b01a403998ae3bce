import classes from "./dead-letters.module.css";

/** How many jobs failed in each hour, as bars. */
export function Trend({ hours }: { hours: readonly number[] }) {
  const most = Math.max(1, ...hours);
  const total = hours.reduce((sum, jobs) => sum + jobs, 0);
  const last = hours.at(-1) ?? 0;
  const byHour = hours.map((jobs, at) => ({ jobs, ago: hours.length - 1 - at }));
  return (
    <span className={classes.trend} role="img" aria-label={`${total} failed in the last 24 hours, ${last} of them in this hour`}>
      {byHour.map(({ ago, jobs }) => (
        <span
          key={ago}
          className={classes.hour}
          data-none={jobs === 0 || undefined}
          style={{ height: `${Math.max(8, (100 * jobs) / most)}%` }}
        />
      ))}
    </span>
  );
}
