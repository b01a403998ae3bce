import { Type } from "typebox";

export const LeaseToken = Type.String({
  title: "LeaseToken",
  pattern: "^[A-Za-z0-9_-]{1,120}$",
  description: "Proves that the worker holds the job. It came with the job.",
  examples: ["1f-3a-1-pXn3ZC0w8bVb2xXq6p1yKQ"],
});
