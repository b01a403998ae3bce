import { Button } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import type { Link } from "@tidemill/contract";
import { useState } from "react";
import { auth } from "../../api/api.ts";
import { ApiError } from "../../api/api-error.ts";
import { ROOT, search } from "../../api/request.ts";
import type { Person } from "../../api/session.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { useSubmit } from "../../ui/use-submit.ts";
import classes from "./BareFrame.module.css";
import { BareFrame } from "./BareFrame.tsx";
import { goOn } from "./go-on.ts";
import { type NewPerson, PersonFields } from "./PersonFields.tsx";

interface LinkFormProps {
  readonly token: string;
  readonly link: Link;
  readonly person: Person | null;
}

/** What the link is for, and what it still needs to know. */
export function LinkForm({ token, link, person }: LinkFormProps) {
  const joins = link.kind === "invitation" && person !== null;
  const [fields, setFields] = useState<NewPerson>({ name: "", email: link.email ?? "", password: "" });
  const { pathname } = useLocation();
  const { busy, error, onSubmit } = useSubmit(async () => {
    await auth.post(`/links/${encodeURIComponent(token)}`, bodyOf(link, joins, fields));
    goOn();
  });
  const mustSignIn = error instanceof ApiError && error.details.sign_in_required === true;
  const { title, text, action } = wordsOf(link, joins ? person : null);
  return (
    <BareFrame title={title} foot={joins ? <SignOut person={person} /> : link.kind === "invitation" && <HaveAccount next={pathname} />}>
      <p>{text}</p>
      <form className={classes.fields} onSubmit={onSubmit}>
        {!joins && needsPerson(link) && <PersonFields fields={fields} onChange={setFields} isEmailFixed={link.email !== null} />}
        {link.kind === "reset" && <PersonFields fields={fields} onChange={setFields} onlyPassword />}
        {error !== null && <ErrorState error={error} what="" title="Not done" />}
        {mustSignIn ? (
          <Button component="a" variant="filled" href={`${ROOT}sign-in${search({ next: pathname })}`}>
            Sign in
          </Button>
        ) : (
          <Button type="submit" variant="filled" loading={busy}>
            {action}
          </Button>
        )}
      </form>
    </BareFrame>
  );
}

function HaveAccount({ next }: { next: string }) {
  return (
    <p>
      Do you have an account? <a href={`${ROOT}sign-in${search({ next })}`}>Sign in</a>
    </p>
  );
}

function SignOut({ person }: { person: Person }) {
  const { busy, error, run } = useSubmit(async () => {
    await auth.post("/sign-out");
    globalThis.location.reload();
  });
  return (
    <>
      <p>You are signed in as {person.email}.</p>
      {error !== null && <ErrorState error={error} what="" title="Not signed out" />}
      <Button onClick={() => void run()} loading={busy}>
        Use another account
      </Button>
    </>
  );
}

/** Whether the link may make an account. Then its form asks for a person's data. */
const needsPerson = ({ kind, new_account }: Link): boolean => kind === "setup" || kind === "invitation" || new_account;

function bodyOf(link: Link, joins: boolean, { name, email, password }: NewPerson): object {
  if (joins) return {};
  if (link.kind === "reset") return { password };
  if (link.kind === "verify" && !link.new_account) return {};
  return { name, password, ...(link.email === null && { email }) };
}

function wordsOf(link: Link, person: Person | null): { title: string; text: string; action: string } {
  const where = link.workspace?.name ?? "a workspace";
  switch (link.kind) {
    case "setup":
      return {
        title: "Set up Tidemill",
        text: "Create the first account. It has all rights: it is an operator of this service and an administrator of its workspace.",
        action: "Create the account",
      };
    case "invitation":
      return {
        title: `Join ${where}`,
        text: `You are invited to ${where}, with the role ${link.role}.${person ? "" : " Create an account, or sign in to yours."}`,
        action: person ? `Join as ${person.name}` : "Create the account and join",
      };
    case "reset":
      return { title: "Set a new password", text: "This ends all your sessions.", action: "Set the password" };
    case "verify":
      return link.new_account
        ? { title: "Create your account", text: `Your mail address is ${link.email}.`, action: "Create the account" }
        : { title: "Confirm your mail address", text: `Confirm that ${link.email} is yours.`, action: "Confirm" };
  }
}
