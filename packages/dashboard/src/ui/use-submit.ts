import { type FormEvent, useState } from "react";

/** What a form does when it is sent, whether it is being sent, and why it failed. */
export function useSubmit(send: () => Promise<unknown>) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await send();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  return { busy, error, run, onSubmit };
}
