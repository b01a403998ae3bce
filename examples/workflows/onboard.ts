import { serve, type WorkflowContext, workflow } from "@tidemill/sdk";

const onboard = workflow({ id: "user.onboard" }, async ({ input, step }: WorkflowContext<{ name: string }>) => {
  const greeting = await step.run("greet", () => {
    console.log(`Welcome, ${input.name}.`);
    return `Welcome, ${input.name}.`;
  });
  await step.sleep("a moment", 100);
  await step.run("ask", () => console.log(`How do you like it, ${input.name}?`));
  return greeting;
});

/** Executes the workflow. It reads TIDEMILL_URL, TIDEMILL_KEY and TIDEMILL_ENDPOINT_SECRET. */
export const handler = serve({ workflows: [onboard] });

/** Tells the service where the handler is. */
export const register = (port: number) =>
  handler.register({ endpointUrl: process.env.ENDPOINT_URL ?? `http://127.0.0.1:${port}/tidemill` });
