import { Worker, workflow } from "@tidemill/sdk";

const onboard = workflow({ id: "onboard" }, () => null);

export const worker = new Worker({ workflows: [onboard] });

await worker.run();
