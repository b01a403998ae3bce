import type { ReactNode } from "react";
import classes from "./Facts.module.css";

/** Facts of a record: names and values. Those that are null are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode] | null)[] }) {
  return (
    <dl className={classes.facts}>
      {facts.flatMap((fact) => {
        if (fact === null) return [];
        const [name, value] = fact;
        return [
          <div key={name} className={classes.fact}>
            <dt className={classes.name}>{name}</dt>
            <dd className={classes.value}>{value}</dd>
          </div>,
        ];
      })}
    </dl>
  );
}
