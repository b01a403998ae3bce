import config from "./vitest.config.ts";

/** `npm run screenshots`: a picture of every page, in both themes and on a narrow window. */
export default { ...config, test: { ...config.test, include: ["packages/dashboard/test/seed/*.shots.ts"], reporters: ["default"] } };
