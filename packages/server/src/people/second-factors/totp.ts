import { createHash } from "node:crypto";
import type { EnabledTotp, PendingTotp } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type Db, type PersonId, problem, type Random } from "#kernel";
import { UnreadableSecretError } from "#vault";
import type { PeopleContext } from "../people-context.ts";
import { keepPerson } from "../person-store.ts";
import type { SessionRow } from "../sessions/session-store.ts";
import { throttle } from "../sessions/throttle.ts";
import { makeTotpSecret, stepOfCode, totpUri } from "./totp-code.ts";
import { enableTotp, findTotp, putPendingTotp, replaceRecoveryCodes, type TotpRow, takeRecoveryCode, takeStep } from "./totp-store.ts";

const RECOVERY_CODES = 10;

/**
 * Begins to enrol an authenticator. It is not in use until a code from it was given (`enable`).
 *
 * @throws INVALID_STATE when one is in use
 */
export async function beginTotp(context: PeopleContext, { personId, email }: SessionRow): Promise<PendingTotp> {
  const { database, random, ids, ownKey, publicUrl } = context;
  const secret = makeTotpSecret(random);
  const id = ids.next();
  if (!(await putPendingTotp(database, personId, id, await ownKey.seal(secret, `totp ${id}`)))) throw alreadyOn();
  const issuer = publicUrl.base === null ? "Tidemill" : `Tidemill ${new URL(publicUrl.base).hostname}`;
  return { secret, uri: totpUri(secret, issuer, email) };
}

/** Takes the authenticator into use. Returns the recovery codes, of which only hashes are stored. @throws FORBIDDEN, INVALID_STATE */
export async function enableTotpWith(
  context: PeopleContext,
  request: FastifyRequest,
  { personId }: SessionRow,
  code: string,
): Promise<EnabledTotp> {
  const { database } = context;
  await throttle(database, { code: personId });
  const pending = await findTotp(database, personId);
  if (!pending || pending.enabled) throw pending ? alreadyOn() : notBegun();
  const step = await stepOf(context, personId, pending, code);
  if (step === null) throw wrongCode();
  return database.transaction(async (tx) => {
    await keepPerson(tx, personId);
    if (!(await enableTotp(tx, personId, pending.id, step))) throw notBegun();
    await context.account.record(tx, request, personId, "totp.enabled");
    return newRecoveryCodes(tx, context.random, personId);
  });
}

/** Replaces the recovery codes with new ones. */
export async function newRecoveryCodes(tx: Db, random: Random, personId: PersonId): Promise<EnabledTotp> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => {
    const text = random.bytes(10).toString("hex");
    return `${text.slice(0, 5)}-${text.slice(5, 10)}-${text.slice(10, 15)}-${text.slice(15)}`;
  });
  await replaceRecoveryCodes(tx, personId, codes.map(hashOf));
  return { recovery_codes: codes };
}

/**
 * Uses up a code of the authenticator, or a recovery code.
 *
 * @returns whether it was right, and was not used before
 * @throws RATE_LIMITED
 */
export async function takeCode(context: PeopleContext, request: FastifyRequest, personId: PersonId, code: string): Promise<boolean> {
  const { database } = context;
  const takeBack = await throttle(database, { code: personId, codeLong: personId });
  const totp = await findTotp(database, personId);
  if (!totp?.enabled) return false;
  const step = await stepOf(context, personId, totp, code);
  const isRight =
    step === null ? await takeRecoveryCode(database, personId, hashOf(code)) : await takeStep(database, personId, totp.id, step);
  if (!isRight) return false;
  if (step === null) await context.account.record(database, request, personId, "recovery_code.used");
  await takeBack();
  return true;
}

/** The step of time that a code is for; null for another text, and if the authenticator's secret cannot be decrypted any more. */
async function stepOf(
  { ownKey, clock, emit }: PeopleContext,
  personId: PersonId,
  { id, ciphertext }: TotpRow,
  code: string,
): Promise<number | null> {
  try {
    return stepOfCode(await ownKey.open(ciphertext, `totp ${id}`), digitsOf(code), clock.nowMs());
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    emit("authenticator_not_decrypted", { personId, error });
    return null;
  }
}

/** People type codes with spaces and dashes. */
const digitsOf = (code: string): string => code.replace(/[\s-]/g, "");

/** 80 random bits need no slow hash. */
const hashOf = (code: string): Buffer =>
  createHash("sha256")
    .update(code.toLowerCase().replace(/[^0-9a-f]/g, ""))
    .digest();

export const wrongCode = () => problem("FORBIDDEN", {}, { message: "The code is wrong, or was already used." });
const alreadyOn = () =>
  problem("INVALID_STATE", { state: "on", allowed_from: ["off"] }, { message: "An authenticator is in use. Turn it off first." });
const notBegun = () =>
  problem("INVALID_STATE", { state: "off", allowed_from: ["pending"] }, { message: "Begin again: this authenticator was not enrolled." });
