import type { ReactNode } from "react";
import classes from "./Tiles.module.css";

/** A number that shows the current condition. With a tone, it needs attention. */
export interface Tile {
  readonly name: string;
  readonly value: ReactNode;
  readonly about?: ReactNode;
  readonly tone?: "bad" | "warn" | undefined;
}

/** Numbers side by side. */
export function Tiles({ tiles }: { tiles: readonly Tile[] }) {
  return (
    <dl className={classes.tiles}>
      {tiles.map(({ name, value, about, tone }) => (
        <div key={name} className={classes.tile} data-tone={tone}>
          <dt className={classes.name}>{name}</dt>
          <dd className={classes.value}>{value}</dd>
          {about && <dd className={classes.about}>{about}</dd>}
        </div>
      ))}
    </dl>
  );
}
