import type { Module, PageAuthenticator } from "#http";
import type { Config, Database, EmitEvent, PersonId, Service, Tenants } from "#kernel";
import { type Keyring, OwnKey } from "#vault";
import type { AdminContext } from "#workspaces";
import { AccountLog } from "./account-log.ts";
import { mountAccount } from "./account-routes.ts";
import { mountAuth } from "./auth-routes.ts";
import { readPublicUrl } from "./base-url.ts";
import { makeFirstSetupLink } from "./links/setup-link.ts";
import { Mailer } from "./mail.ts";
import { mountMembers } from "./members/member-routes.ts";
import { IdentityProvider } from "./oidc/identity-provider.ts";
import { mountOidc } from "./oidc/oidc-routes.ts";
import { mountOperatorInvitations } from "./operator-routes.ts";
import { Passwords } from "./password.ts";
import type { PeopleContext } from "./people-context.ts";
import { mountSecondFactors } from "./second-factors/second-factor-routes.ts";
import { clientAddressOf } from "./sessions/client-address.ts";
import { TokenCookie } from "./sessions/cookie.ts";
import { KnownDevices } from "./sessions/known-devices.ts";
import { Sessions } from "./sessions/sessions.ts";
import { createSweep } from "./sweep.ts";

export interface PeopleOptions {
  readonly config: Config;
  readonly api: Database;
  readonly adminContext: AdminContext;
  readonly emit: EmitEvent;
  readonly nodeUrl: () => string;
  readonly tenants: Tenants;
  readonly keyring: Keyring;
  readonly engine: Database;
  readonly onPersonChanged: (personId: PersonId) => void;
}

export interface People extends Module {
  /** Null without a dashboard. */
  readonly pages: PageAuthenticator | null;
  /** Makes a link for the first person when the node starts, while there is none. */
  readonly first: Service;
  /** The address of the link that this start made. */
  setupUrl(): string | null;
}

/** People, how they sign in, and their sessions. */
export function createPeople({
  config,
  api: database,
  engine,
  tenants,
  keyring,
  adminContext,
  emit,
  nodeUrl,
  onPersonChanged,
}: PeopleOptions): People {
  if (config.dashboard === "off") {
    return { pages: null, first: { start: () => {}, stop: async () => {} }, setupUrl: () => null };
  }
  const publicUrl = readPublicUrl(config.publicUrl);
  const cookie = new TokenCookie("session", publicUrl);
  const clientAddress = clientAddressOf(config.trustedProxies);
  const account = new AccountLog(adminContext.ids, clientAddress);
  const devices = new KnownDevices(new TokenCookie("device", publicUrl), adminContext.random);
  const sessions = new Sessions({
    ...adminContext,
    database,
    cookie,
    publicOrigin: publicUrl.origin,
    account,
    devices,
    emit,
    onPersonChanged,
  });
  const mailer = Mailer.of(config, publicUrl, emit);
  const passwords = new Passwords(adminContext.random);
  const signUpIsOpen = mailer !== null && config.signUp === "open";
  const context: PeopleContext = {
    ...adminContext,
    database,
    passwords,
    sessions,
    account,
    devices,
    stateCookie: new TokenCookie("oidc", publicUrl),
    publicUrl,
    ownKey: new OwnKey({ database, keyring, random: adminContext.random, name: "totp" }),
    mailer,
    signUpIsOpen,
    clientAddress,
    emit,
    nodeUrl,
    onPersonChanged,
  };
  const provider = IdentityProvider.of(config, emit);
  const howToSignIn = {
    oidc: provider && { name: config.oidcName },
    sign_up: signUpIsOpen ? "open" : "closed",
    mail: mailer !== null,
  } as const;
  let setupUrl: string | null = null;
  return {
    pages: sessions,
    first: {
      start: async () => {
        setupUrl = await makeFirstSetupLink(database, context);
        if (setupUrl !== null) emit("setup_link_made", { url: setupUrl });
      },
      stop: async () => {},
    },
    setupUrl: () => setupUrl,
    routes: (api) => {
      mountAuth(api, context, howToSignIn);
      mountAccount(api, context);
      mountSecondFactors(api, context);
      if (provider) mountOidc(api, context, provider, { roles: config.oidcRoles, groupsClaim: config.oidcGroupsClaim });
      mountMembers(api, { tenants, context });
    },
    operatorRoutes: (api) => mountOperatorInvitations(api, context),
    services: [createSweep(engine, emit, adminContext.random), { start: () => {}, stop: async () => mailer?.close() }],
  };
}
