// In a Next application: app/tidemill/route.ts
import { nextHandler } from "@tidemill/sdk";
import { handler } from "./onboard.ts";

export const { POST } = nextHandler(handler);
