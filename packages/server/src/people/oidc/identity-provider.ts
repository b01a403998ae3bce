import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  type IDToken,
  None,
} from "openid-client";
import { type Config, type EmitEvent, unavailable } from "#kernel";

const TIMEOUT_SECONDS = 10;

/** What proves that a response of the provider belongs to a request. */
export interface Asked {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

type OidcSettings = Pick<Config, "oidcIssuer" | "oidcClientId" | "oidcClientSecret" | "oidcScopes">;

/** An identity provider: OpenID Connect, authorization code with PKCE, state and nonce. */
export class IdentityProvider {
  readonly #settings: OidcSettings;
  readonly #issuer: string;
  readonly #emit: EmitEvent;
  #discovered: Promise<Configuration> | null = null;

  private constructor(settings: OidcSettings, issuer: string, emit: EmitEvent) {
    this.#settings = settings;
    this.#issuer = issuer;
    this.#emit = emit;
  }

  /** Null when none is set. */
  static of(config: OidcSettings, emit: EmitEvent): IdentityProvider | null {
    return config.oidcIssuer === null || config.oidcClientId === "" ? null : new IdentityProvider(config, config.oidcIssuer, emit);
  }

  /** The URL to which the browser is sent to sign in. @throws UNAVAILABLE when the provider cannot be reached */
  async askAt({ state, nonce, verifier }: Asked, redirectUri: string): Promise<string> {
    const url = buildAuthorizationUrl(await this.#discover(), {
      redirect_uri: redirectUri,
      scope: this.#settings.oidcScopes,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
    });
    return url.href;
  }

  /** The claims of the person who has signed in there. @throws an error when the response does not belong to the request */
  async claimsOf({ state, nonce, verifier }: Asked, answeredAt: URL): Promise<IDToken> {
    const tokens = await authorizationCodeGrant(await this.#discover(), answeredAt, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (!claims) throw new Error("The identity provider gave no id token.");
    return claims;
  }

  #discover(): Promise<Configuration> {
    const { oidcClientId, oidcClientSecret } = this.#settings;
    const issuer = new URL(this.#issuer);
    const insecure = issuer.protocol === "http:" ? { execute: [allowInsecureRequests] } : {};
    const secret = oidcClientSecret === "" ? undefined : oidcClientSecret;
    const how = secret === undefined ? None() : undefined;
    this.#discovered ??= discovery(issuer, oidcClientId, secret, how, { ...insecure, timeout: TIMEOUT_SECONDS }).catch((error: unknown) => {
      this.#discovered = null;
      this.#emit("oidc_failed", { error });
      throw unavailable("The identity provider cannot be reached.");
    });
    return this.#discovered;
  }
}
