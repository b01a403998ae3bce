import { type TProperties, Type } from "typebox";

/** The resources of a node that workspaces share and that a job or run needs to start. */
export const JOB_SHARES = ["delivery_slots", "payload_memory"] as const;

export const Count = (description: string) => Type.Integer({ minimum: 0, description });

/** @param name of the gate's schemas in the OpenAPI document */
export const Gate = <Name extends string, Figures extends TProperties>(name: string, gate: Name, description: string, figures: Figures) =>
  Type.Object(
    {
      gate: Type.Literal(gate, { description: "Which gate it is." }),
      holds: Type.Boolean({
        description: "Whether it keeps the job or run from starting now, or would do so if it had passed the other gates.",
      }),
      message: Type.String({ description: "The gate's state as a sentence, for people." }),
      figures: Type.Object(figures, { title: `${name}Figures`, description: "The gate's state in figures, for programs." }),
    },
    { title: name, description },
  );
