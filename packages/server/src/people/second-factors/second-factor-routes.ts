import {
  type EnabledTotp,
  type Passkey,
  PasskeyAnswer,
  PasskeyPath,
  PasskeyRegistration,
  type PendingTotp,
  TotpCode,
} from "@tidemill/contract";
import type { Api } from "#http";
import { notFound, uuidOf } from "#kernel";
import type { PeopleContext } from "../people-context.ts";
import { keepPerson } from "../person-store.ts";
import { config, empty, hidden } from "../route-parts.ts";
import { networkOfRequest } from "../sessions/client-address.ts";
import { notSignedIn } from "../sessions/sessions.ts";
import { throttle } from "../sessions/throttle.ts";
import { deletePasskey, listPasskeys } from "./passkey-store.ts";
import { addPasskey, askForPasskey, beginPasskey, showPasskey, verifyPasskey } from "./passkeys.ts";
import { requireConfirmed } from "./require-confirmed.ts";
import { beginTotp, enableTotpWith, newRecoveryCodes } from "./totp.ts";
import { deleteRecoveryCodes, deleteTotp } from "./totp-store.ts";

/** Passkeys and authenticators of a person, and signing in with a passkey. Source: contract §13. */
export function mountSecondFactors(api: Api, context: PeopleContext): void {
  const { database, sessions, account, random } = context;
  const confirmed = async (request: Parameters<typeof sessions.require>[0]) => {
    const session = await sessions.require(request);
    requireConfirmed(session);
    return session;
  };

  api.post(
    "/dashboard/auth/totp",
    { config, schema: hidden({}) },
    async (request): Promise<PendingTotp> => beginTotp(context, await confirmed(request)),
  );
  api.post(
    "/dashboard/auth/totp/enable",
    { config, schema: hidden({ body: TotpCode }) },
    async (request): Promise<EnabledTotp> => enableTotpWith(context, request, await confirmed(request), request.body.code),
  );
  api.post("/dashboard/auth/totp/recovery-codes", { config, schema: hidden({}) }, async (request): Promise<EnabledTotp> => {
    const { personId } = await confirmed(request);
    return database.transaction(async (tx) => {
      await account.record(tx, request, personId, "recovery_codes.replaced");
      return newRecoveryCodes(tx, random, personId);
    });
  });
  api.delete("/dashboard/auth/totp", { config, schema: hidden({}) }, async (request, reply) => {
    const { personId } = await confirmed(request);
    await database.transaction(async (tx) => {
      await account.record(tx, request, personId, "totp.disabled");
      await deleteTotp(tx, personId);
      await deleteRecoveryCodes(tx, personId);
    });
    return empty(reply);
  });

  api.get("/dashboard/auth/passkeys", { config, schema: hidden({}) }, async (request): Promise<{ data: Passkey[] }> => {
    const { personId } = await sessions.require(request);
    return { data: (await listPasskeys(database, personId)).map(showPasskey) };
  });
  api.post("/dashboard/auth/passkeys/options", { config, schema: hidden({}) }, async (request) =>
    beginPasskey(context, request, await confirmed(request)),
  );
  api.post("/dashboard/auth/passkeys", { config, schema: hidden({ body: PasskeyRegistration }) }, async (request, reply) => {
    const added = await addPasskey(context, request, await confirmed(request), request.body);
    return reply.code(201).send(showPasskey(added));
  });
  api.delete("/dashboard/auth/passkeys/:id", { config, schema: hidden({ params: PasskeyPath }) }, async (request, reply) => {
    const { personId } = await confirmed(request);
    const id = uuidOf("pky", request.params.id);
    await database.transaction(async (tx) => {
      await keepPerson(tx, personId);
      const deleted = id && (await deletePasskey(tx, personId, id));
      if (!deleted) throw notFound({ resource: "passkey", id: request.params.id });
      await account.record(tx, request, personId, "passkey.removed", deleted.name);
    });
    return empty(reply);
  });

  api.post("/dashboard/auth/passkeys/sign-in/options", { config, schema: hidden({}) }, async (request) => {
    await throttle(database, { signInAddress: networkOfRequest(context, request) });
    return askForPasskey(context, request);
  });
  api.post("/dashboard/auth/passkeys/sign-in", { config, schema: hidden({ body: PasskeyAnswer }) }, async (request, reply) => {
    const person = await verifyPasskey(context, request, request.body);
    const opened = await database.transaction((tx) => sessions.open(tx, request, person, "passkey"));
    if (!opened) throw notSignedIn();
    opened.setCookie(reply);
    return empty(reply);
  });
}
