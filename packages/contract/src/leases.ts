import { Type } from "typebox";

/** The token of examples. */
export const LEASE_TOKEN = "1f-3a-1-pXn3ZC0w8bVb2xXq6p1yKQ";

export const LeaseToken = Type.String({
  title: "LeaseToken",
  pattern: "^[A-Za-z0-9_-]{1,120}$",
  description: "Proves that the worker holds the job. It came with the job.",
  examples: [LEASE_TOKEN],
});
