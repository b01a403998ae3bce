import { type Config, makeSetupLink, OPERATOR, readPublicUrl } from "@tidemill/server";
import { printRecord } from "../output/table.ts";
import { withDatabase } from "./with-database.ts";

/** `tidemill people setup-link`: makes a link for a new operator. */
export const makeSetupLinkCommand = ({ json }: { json?: boolean }): Promise<void> =>
  withDatabase(async ({ api }, adminContext, config) => {
    const url = await makeSetupLink(api, { ...adminContext, ...addressesOf(config) }, OPERATOR);
    printRecord({ url }, json);
  });

/** Where links lead. A node on a free port has another address than this one, which the operator then knows. */
const addressesOf = ({ publicUrl, host, port }: Config) => ({
  publicUrl: readPublicUrl(publicUrl),
  nodeUrl: () => `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
});
