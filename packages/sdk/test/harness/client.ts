import { Tidemill, type TidemillOptions } from "@tidemill/sdk";
import { test as base, type Service } from "../../../server/test/harness/service.ts";
import { FaultyProxy } from "./faulty-proxy.ts";

/** A client of the test's workspace that reaches its node through a proxy. */
export interface Clients {
  readonly proxy: FaultyProxy;
  readonly tidemill: Tidemill;
  /** Another one, with other options. */
  with(options: TidemillOptions): Tidemill;
}

export const test = base.extend("clients", async ({ service }: { service: Service }, { onCleanup }): Promise<Clients> => {
  const proxy = await FaultyProxy.to(() => service.node.url);
  onCleanup(() => proxy.close());
  const make = (options: TidemillOptions = {}) => new Tidemill({ url: proxy.url, key: service.key, ...options });
  return { proxy, tidemill: make(), with: make };
});
