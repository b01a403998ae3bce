import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import type { PasskeyAnswer, PasskeyRegistration } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { problem, typeId } from "#kernel";
import type { PeopleContext } from "../people-context.ts";
import type { SessionRow } from "../sessions/session-store.ts";
import type { ProvenPerson } from "../sessions/sessions.ts";
import { putChallenge, takeChallenge } from "./challenge-store.ts";
import { findCredential, insertPasskey, listPasskeys, type PasskeyRow, recordUse } from "./passkey-store.ts";
import { type RelyingParty, relyingPartyOf } from "./relying-party.ts";

const ADD = "passkey.add";
const USE = "passkey.use";
/** Base64url of up to 1,023 bytes (WebAuthn, 4). */
const CREDENTIAL_ID = /^[\w-]{1,1364}$/;

/** What the browser needs to make a passkey. */
export async function beginPasskey(
  context: PeopleContext,
  request: FastifyRequest,
  session: SessionRow,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const party = requireParty(context, request);
  const known = await listPasskeys(context.database, session.personId);
  const options = await generateRegistrationOptions({
    rpName: "Tidemill",
    rpID: party.id,
    userName: session.email,
    userDisplayName: session.name,
    userID: new TextEncoder().encode(session.personId),
    attestationType: "none",
    excludeCredentials: known.map(({ credential_id }) => ({ id: credential_id })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  await putChallenge(context.database, ADD, options.challenge, session.personId, null);
  return options;
}

/** Stores a passkey that the browser has made. @throws FORBIDDEN when it does not match the challenge */
export async function addPasskey(
  context: PeopleContext,
  request: FastifyRequest,
  session: SessionRow,
  { name, response }: PasskeyRegistration,
): Promise<PasskeyRow> {
  const { database, ids, account } = context;
  const party = requireParty(context, request);
  const verified = await verifyRegistrationResponse({
    response: response as unknown as RegistrationResponseJSON,
    expectedChallenge: async (challenge) => (await takeChallenge(database, ADD, challenge))?.personId === session.personId,
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    requireUserVerification: true,
  }).catch(() => null);
  if (!verified?.verified) throw refused();
  const { credential } = verified.registrationInfo;
  return database.transaction(async (tx) => {
    const stored = await insertPasskey(tx, {
      id: ids.next(),
      personId: session.personId,
      version: session.version,
      name: name.trim(),
      rpId: party.id,
      credentialId: credential.id,
      publicKey: credential.publicKey,
      counter: credential.counter,
      transports: credential.transports ?? [],
    });
    if (!stored) throw refused();
    await account.record(tx, request, session.personId, "passkey.added", stored.name);
    return stored;
  });
}

/** What the browser needs to use a passkey: any that it knows for this host. */
export async function askForPasskey(context: PeopleContext, request: FastifyRequest): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const party = requireParty(context, request);
  const options = await generateAuthenticationOptions({ rpID: party.id, userVerification: "required", allowCredentials: [] });
  await putChallenge(context.database, USE, options.challenge, null, null);
  return options;
}

/** Verifies a passkey, and returns its person. @throws UNAUTHORIZED */
export async function verifyPasskey(context: PeopleContext, request: FastifyRequest, { response }: PasskeyAnswer): Promise<ProvenPerson> {
  const { database } = context;
  const party = requireParty(context, request);
  const answer = response as unknown as AuthenticationResponseJSON;
  const credential =
    typeof answer.id === "string" && CREDENTIAL_ID.test(answer.id) ? await findCredential(database, answer.id, party.id) : null;
  if (!credential) throw unknownPasskey();
  const verified = await verifyAuthenticationResponse({
    response: answer,
    expectedChallenge: async (challenge) => (await takeChallenge(database, USE, challenge)) !== null,
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    credential: { id: answer.id, publicKey: new Uint8Array(credential.publicKey), counter: credential.counter },
    requireUserVerification: true,
  }).catch(() => null);
  if (!verified?.verified || !(await recordUse(database, credential.id, verified.authenticationInfo.newCounter))) throw unknownPasskey();
  return { id: credential.personId, version: credential.version };
}

export const showPasskey = ({ id, name, created_at, last_used_at }: PasskeyRow) => ({
  id: typeId("pky", id),
  name,
  created_at,
  last_used_at,
});

function requireParty({ publicUrl }: PeopleContext, request: FastifyRequest): RelyingParty {
  const party = relyingPartyOf(request, publicUrl);
  if (!party) throw problem("FORBIDDEN", {}, { message: "Browsers have passkeys only for host names, with TLS or at localhost." });
  return party;
}

const refused = () => problem("FORBIDDEN", {}, { message: "The passkey was not accepted. Try again." });
const unknownPasskey = () => problem("UNAUTHORIZED", {}, { message: "This passkey is not known here." });
