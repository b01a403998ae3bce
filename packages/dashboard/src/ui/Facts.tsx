import type { ReactNode } from "react";
import classes from "./Facts.module.css";

/** A name and a value. An id is `wide`, so that it stays on one line. */
type Fact = readonly [name: string, value: ReactNode, width?: "wide"];

/** Facts of a record. Those that are null are left out. */
export function Facts({ facts }: { facts: readonly (Fact | null)[] }) {
  return (
    <dl className={classes.facts}>
      {facts.flatMap((fact) => {
        if (fact === null) return [];
        const [name, value, width] = fact;
        return [
          <div key={name} className={classes.fact} data-width={width}>
            <dt className={classes.name}>{name}</dt>
            <dd className={classes.value}>{value}</dd>
          </div>,
        ];
      })}
    </dl>
  );
}
