import { PasswordInput, TextInput } from "@mantine/core";

export interface NewPerson {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

interface PersonFieldsProps {
  readonly fields: NewPerson;
  readonly onChange: (fields: NewPerson) => void;
  readonly isEmailFixed?: boolean;
  readonly onlyPassword?: boolean;
}

/** The fields of a new account. */
export function PersonFields({ fields, onChange, isEmailFixed = false, onlyPassword = false }: PersonFieldsProps) {
  return (
    <>
      {!onlyPassword && (
        <>
          <TextInput
            label="Your name"
            name="name"
            autoComplete="name"
            maxLength={128}
            value={fields.name}
            onChange={({ currentTarget }) => onChange({ ...fields, name: currentTarget.value })}
            required
            autoFocus
          />
          <TextInput
            label="Mail address"
            type="email"
            name="email"
            autoComplete="username"
            value={fields.email}
            onChange={({ currentTarget }) => onChange({ ...fields, email: currentTarget.value })}
            readOnly={isEmailFixed}
            required
          />
        </>
      )}
      <PasswordInput
        label={onlyPassword ? "New password" : "Password"}
        description="At least 10 characters."
        name="password"
        autoComplete="new-password"
        minLength={10}
        maxLength={256}
        value={fields.password}
        onChange={({ currentTarget }) => onChange({ ...fields, password: currentTarget.value })}
        required
        autoFocus={onlyPassword}
      />
    </>
  );
}
