import { serve, workflow } from "@tidemill/sdk";

const onboard = workflow({ id: "onboard" }, () => null);

export const handler = serve({ workflows: [onboard], secret: `cbs_${"a".repeat(43)}` });

await handler.register({ endpointUrl: "https://example.com/workflows" });
